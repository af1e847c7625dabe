import multipart from '@fastify/multipart'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { FileParams, Uploaded, UploadLinkQuery } from '#schemas/storage-protocol.ts'
import { FileBody } from '#schemas/storage-upload.ts'
import { isFileName } from '../file-names.ts'
import { isTaken } from '../object-rows.ts'
import { route, type ProtocolOptions } from '../named-files.ts'
import { checkLink, StorageError } from './errors.ts'
import { fileLimit, receive } from './received.ts'

/** The target of an upload, and the owner of the new file. */
interface Destination { bucket: string, name: string, owner: string, replace: boolean }

const upload = { params: FileParams, body: FileBody, response: { 200: Uploaded } }

const uploadRoute = route(
  { access: 'auth', headers: { reads: ['X-Upsert', 'X-Metadata'] } },
  'storageUpload', 'Carica un file; con x-upsert: true anche al posto di un altro', upload
)

const updateRoute = route(
  { access: 'auth', headers: { reads: ['X-Metadata'] } },
  'storageUpdate', 'Carica un file al posto di quello che c’è', upload
)

const linkRoute = route(
  { access: 'public', headers: { reads: ['X-Metadata'] } },
  'storageUploadToLink', 'Carica un file con un link firmato', { querystring: UploadLinkQuery, ...upload }
)

/** Routes that upload files. Files of every type are streamed to the file store. */
const uploadRoutes: FastifyPluginAsyncTypebox<ProtocolOptions> = async (app, { links, namedFiles }) => {
  const { db, files } = app
  app.removeAllContentTypeParsers()
  await app.register(multipart, { throwFileSizeLimit: true })
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
  // Reads and drops the rest of a rejected body, so that the client receives the error.
  app.addHook('onError', async ({ raw }) => { raw.unpipe().resume() })

  app.post('/object/:bucket/*', uploadRoute, async (request) => {
    const replace = request.headers['x-upsert'] === 'true'
    return await receiveFile(request, { ...named(request.params), owner: request.principal!.id, replace })
  })

  app.put('/object/:bucket/*', updateRoute, async (request) =>
    await receiveFile(request, { ...named(request.params), owner: request.principal!.id, replace: true }))

  app.put('/object/upload/sign/:bucket/*', linkRoute, async (request) => {
    const file = named(request.params)
    const { owner, upsert: replace } = checkLink(links.readUpload(request.query.token, file))
    return await receiveFile(request, { ...file, owner, replace })
  })

  async function receiveFile (request: FastifyRequest, { bucket: id, name, owner, replace }: Destination) {
    const bucket = await namedFiles.bucket(id)
    if (!namedFiles.isWritable(id)) throw new StorageError('AccessDenied')
    if (!isFileName(name)) throw new StorageError('InvalidKey')
    if (!replace && await isTaken(db, id, name)) throw new StorageError('KeyAlreadyExists')
    const { content, ...about } = await receive(request, bucket)
    const written = await files.write(content, { bucket: id, name, owner, ...about }, fileLimit(bucket))
    const { object_id: stored } = await files.settle(written, () => db.transaction(async (tx) => {
      const kept = await files.keep(tx, written, { replace })
      const details = { bucket: id }
      const object = `file:${kept.id}`
      await app.audit.append(tx, { actor: owner, ip: request.ip, action: 'file_caricato', object, details })
      return kept
    }))
    return { Id: stored, Key: `${id}/${name}` }
  }
}
export default uploadRoutes

function named ({ bucket, '*': name }: FileParams): { bucket: string, name: string } {
  return { bucket, name }
}
