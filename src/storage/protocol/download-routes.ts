import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { DownloadQuery, FileContent, FileParams, FilePart, LinkQuery, ObjectInfo } from '#schemas/storage-protocol.ts'
import { followLink } from '../issued-links.ts'
import { route, type ProtocolOptions } from '../named-files.ts'
import { checkLink } from './errors.ts'
import { presentInfo } from './present-files.ts'

const content = { 200: FileContent, 206: FilePart, 304: Type.Null() }
const download = { params: FileParams, querystring: DownloadQuery, response: content }
const info = { params: FileParams, response: { 200: ObjectInfo } }

const downloadRoute = route({ access: 'optional' }, 'storageDownload', 'Il contenuto di un file', download)

const authenticatedRoute = route(
  { access: 'auth' },
  'storageDownloadAuthenticated', 'Il contenuto di un file, all’indirizzo che richiede le credenziali', download
)

const publicRoute = route(
  { access: 'public' }, 'storageDownloadPublic', 'Il contenuto di un file di un bucket pubblico', download
)

const infoRoute = route({ access: 'optional' }, 'storageInfo', 'I metadati di un file', info)

const authenticatedInfoRoute = route(
  { access: 'auth' },
  'storageInfoAuthenticated', 'I metadati di un file, all’indirizzo che richiede le credenziali', info
)

const publicInfoRoute = route(
  { access: 'public' }, 'storageInfoPublic', 'I metadati di un file di un bucket pubblico', info
)

const linkRoute = route({ access: 'public' }, 'storageDownloadByLink', 'Il contenuto di un file, con un link firmato', {
  params: FileParams, querystring: LinkQuery, response: content
})

/** Routes that download files and return their metadata. */
const downloadRoutes: FastifyPluginAsyncTypebox<ProtocolOptions> = async (app, { links, namedFiles }) => {
  app.get('/object/:bucket/*', downloadRoute, sendVisible)

  app.get('/object/authenticated/:bucket/*', authenticatedRoute, sendVisible)

  app.get('/object/public/:bucket/*', publicRoute, async ({ params, query: { download } }, reply) => {
    const file = await namedFiles.open(params.bucket, params['*'])
    return await reply.sendObject(file, { download, isLinked: true, cacheControl: file.cache_control ?? 'no-cache' })
  })

  app.get('/object/sign/:bucket/*', linkRoute, async (request, reply) => {
    const { params: { bucket, '*': name }, query: { token, download } } = request
    const { file, issuer, transform } = await followLink(app, { links, namedFiles }, { bucket, name }, token)
    // A link to a rendition must not show the original, which has more detail and metadata.
    if (transform) checkLink('other')
    return await reply.sendObject(file, { download, isLinked: true, isSigned: true, reader: issuer?.id })
  })

  app.get('/object/info/:bucket/*', infoRoute, infoOfVisible)

  app.get('/object/info/authenticated/:bucket/*', authenticatedInfoRoute, infoOfVisible)

  app.get('/object/info/public/:bucket/*', publicInfoRoute, async ({ params }) =>
    presentInfo(await namedFiles.open(params.bucket, params['*'])))

  async function infoOfVisible (request: FastifyRequest<{ Params: FileParams }>) {
    return presentInfo(await namedFiles.visible(request, request.params.bucket, request.params['*']))
  }

  async function sendVisible (
    request: FastifyRequest<{ Params: FileParams, Querystring: { download?: string } }>, reply: FastifyReply
  ) {
    const { params: { bucket, '*': name }, query: { download } } = request
    return await reply.sendObject(await namedFiles.visible(request, bucket, name), { download })
  }
}
export default downloadRoutes
