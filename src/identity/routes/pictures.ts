import multipart from '@fastify/multipart'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { PICTURE_BYTES_MAX, PICTURE_SIDE_MAX, PictureAnswer, PictureForm } from '#schemas/picture.ts'
import { IMAGE_ERRORS } from '#schemas/errors/groups.ts'
import type { Config } from '#src/config/config.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { departureOf } from '#src/http/departures.ts'
import { fileForm } from '#src/http/file-form.ts'
import { keepPicture, pictureName, PICTURES } from '../people/pictures.ts'

/** Bytes of a picture as it is encoded anew. */
const STORED_MAX = 4 * 1024 * 1024

/** Profile pictures, in a scope of their own: here alone a body is a form. */
const pictures: FastifyPluginAsyncTypebox<{ config: Config }> = async (app, { config }) => {
  const { identity: { directory }, images, storage } = app
  const form = fileForm(PICTURE_BYTES_MAX)
  app.removeAllContentTypeParsers()
  await app.register(multipart, { limits: form.limits })

  app.route({
    method: 'POST',
    url: '/api/operators/pfp',
    bodyLimit: form.bodyLimit,
    config: { access: 'admin', idempotent: true, holdsBody: true },
    schema: {
      operationId: 'setImmagineProfilo',
      errorCodes: ['UTENTE_NON_TROVATO', ...IMAGE_ERRORS],
      tags: ['Utenti'],
      summary: 'Salva l’immagine del profilo di un operatore',
      description:
        'JPEG, PNG o WebP di al massimo 5 MiB, ricodificata a non più di 512 pixel per lato, senza metadati. Il suo ' +
        'indirizzo è anche in user_metadata.avatar_url.',
      consumes: ['multipart/form-data'],
      body: PictureForm,
      response: { 200: PictureAnswer }
    },
    preParsing: form.check,
    preValidation: form.read,
    handler: async (request, reply) => {
      const { userId, file } = request.body
      await directory.checkOperator(userId)
      const image = await images.reencode(file, {
        campo: 'file', caller: request.principal!.id, signal: departureOf(reply), sideMax: PICTURE_SIDE_MAX
      })
      const name = pictureName(userId, image.extension)
      const url = `${config.PUBLIC_URL}/api/storage/${PICTURES}/${name}`
      const written = await storage.write(
        image.bytes, { bucket: PICTURES, name, contentType: image.contentType, owner: userId.toLowerCase() }, STORED_MAX
      )
      await storage.settle(written, () => directory.setPicture(
        userId, url, authorOf(request), async (tx) => {
          await keepPicture(tx, storage, userId, written)
          await request.noteDone(tx)
        }
      ))
      return { success: true, message: 'Immagine del profilo salvata', path: `${PICTURES}/${name}`, url, status: 200 }
    }
  })
}
export default pictures
