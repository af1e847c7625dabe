import multipart from '@fastify/multipart'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { SOURCE_WORDS } from '#schemas/image.ts'
import { PICTURE_BYTES_MAX, PICTURE_SIDE_MAX, PictureResponse, PictureForm } from '#schemas/picture.ts'
import type { AuthUser } from '#schemas/auth/user.ts'
import type { Operator } from '#schemas/operator.ts'
import { IMAGE_ERRORS } from '#schemas/errors/groups.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { disconnectSignal } from '#src/http/client-disconnects.ts'
import { fileForm } from '#src/http/file-form.ts'
import type { Bucket } from '#schemas/storage.ts'
import type { Transaction } from '#src/database/connect.ts'
import type { FileService, StoredFile, WrittenFile } from '#src/services/files/file-service.ts'

const route = routesUnder('Utenti')

/** The bucket of pictures. An object's name is the person's id, with the extension of the format. */
const PICTURES: Bucket = 'avatars'
/** The lifetime of a link to a picture. */
const LINK_SECONDS = 3600
/** Maximum bytes of a re-encoded picture. */
const STORED_MAX = 4 * 1024 * 1024

const profilePictures: FastifyPluginAsyncTypebox = async (app) => {
  const { identity: { config, directory }, images, files } = app
  const form = fileForm(PICTURE_BYTES_MAX)
  app.removeAllContentTypeParsers()
  await app.register(multipart, { limits: form.limits })

  app.post('/api/operators/pfp', {
    bodyLimit: form.bodyLimit,
    preParsing: form.check,
    preValidation: form.read,
    ...route(
      { access: 'admin', idempotent: true, holdsBody: true },
      'setImmagineProfilo', 'Salva l’immagine del profilo di un operatore', {
        errorCodes: ['UTENTE_NON_TROVATO', ...IMAGE_ERRORS],
        description:
          `${SOURCE_WORDS}, di al massimo 5 MiB, ricodificata a non più di 512 pixel per lato, senza metadati. Il ` +
          'suo indirizzo è anche in user_metadata.avatar_url.',
        consumes: ['multipart/form-data'],
        body: PictureForm,
        response: { 200: PictureResponse }
      }
    )
  }, async (request, reply) => {
    const { userId, file } = request.body
    await directory.checkOperator(userId)
    const image = await images.reencode(file, {
      campo: 'file', caller: request.principal!.id, signal: disconnectSignal(reply), sideMax: PICTURE_SIDE_MAX
    })
    const name = pictureName(userId, image.extension)
    const url = `${config.PUBLIC_URL}/api/storage/${PICTURES}/${name}`
    const written = await files.write(
      image.bytes, { bucket: PICTURES, name, contentType: image.contentType, owner: userId.toLowerCase() }, STORED_MAX
    )
    await files.settle(written, () => directory.setPicture(
      userId, url, authorOf(request), async (tx) => {
        const kept = await keepPicture(tx, files, userId, written)
        await request.noteDone(tx)
        return kept
      }
    ))
    const path = `${PICTURES}/${name}`
    return { success: true, message: 'Immagine del profilo salvata', path, url, status: 200 }
  })
}
export default profilePictures

function pictureName (userId: string, extension: string): string {
  return `${userId.toLowerCase()}.${extension}`
}

/** Stores a picture. It replaces the previous one, in any format. */
async function keepPicture (
  tx: Transaction, files: FileService, userId: string, file: WrittenFile
): Promise<StoredFile> {
  await discardPicture(tx, files, userId)
  return await files.keep(tx, file, { replace: true })
}

/** Adds signed links to the pictures of people. A browser can open such a link without credentials. */
export async function withPictureLinks (
  { db, files, linkFile }: FastifyInstance, people: readonly AuthUser[]
): Promise<Operator[]> {
  const pictures = await files.findByPrefixes(db, PICTURES, people.map(({ id }) => pictureName(id, '')))
  const byPerson = new Map(pictures.map((file) => [file.name.split('.', 1)[0], file]))
  return people.map((person) => {
    const picture = byPerson.get(person.id)
    return picture ? { ...person, foto_url: linkFile(picture, LINK_SECONDS).signedUrl } : person
  })
}

export async function discardPicture (tx: Transaction, files: FileService, userId: string): Promise<void> {
  await files.discard(tx, await files.findByPrefix(tx, PICTURES, pictureName(userId, '')))
}
