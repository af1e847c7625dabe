import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { DownloadQuery, FileContent, FileParams, FilePart, LinkQuery, ObjectInfo } from '#schemas/storage-protocol.ts'
import { tags, type Files, type ProtocolOptions } from '../named-files.ts'
import { checkLink, StorageError } from './errors.ts'
import { presentInfo } from './present-files.ts'

const response = { 200: FileContent, 206: FilePart, 304: Type.Null() }
const download = { tags, params: FileParams, querystring: DownloadQuery, response }

/** What is known of a file is told under three addresses. */
const INFO = [
  { path: '', access: 'auth', operationId: 'storageInfo', of: '', find: findVisible },
  {
    path: '/authenticated',
    access: 'auth',
    operationId: 'storageInfoAuthenticated',
    of: ', con l’indirizzo che lo dice privato',
    find: findVisible
  },
  {
    path: '/public',
    access: 'public',
    operationId: 'storageInfoPublic',
    of: ' di un bucket pubblico',
    find: (files: Files, _: FastifyRequest, { bucket, '*': rest }: FileParams) => files.open(bucket, rest)
  }
] as const

const downloadRoute = {
  config: { access: 'auth' },
  schema: {
    operationId: 'storageDownload',
    summary: 'Il contenuto di un file',
    ...download
  }
} as const

const authenticatedRoute = {
  config: { access: 'auth' },
  schema: {
    operationId: 'storageDownloadAuthenticated',
    summary: 'Il contenuto di un file, con l’indirizzo che lo dice privato',
    ...download
  }
} as const

const publicRoute = {
  config: { access: 'public' },
  schema: {
    operationId: 'storageDownloadPublic',
    summary: 'Il contenuto di un file di un bucket pubblico',
    ...download
  }
} as const

const linkRoute = {
  config: { access: 'public' },
  schema: {
    operationId: 'storageDownloadByLink',
    tags,
    summary: 'Il contenuto di un file, con un link firmato',
    params: FileParams,
    querystring: LinkQuery,
    response
  }
} as const

/** Downloads of files, and what is known of them. */
const downloadRoutes: FastifyPluginAsyncTypebox<ProtocolOptions> = async (app, { links, files }) => {
  app.get('/object/:bucket/*', downloadRoute, sendVisible)

  app.get('/object/authenticated/:bucket/*', authenticatedRoute, sendVisible)

  app.get('/object/public/:bucket/*', publicRoute, async ({ params, query: { download } }, reply) => {
    const file = await files.open(params.bucket, params['*'])
    return await reply.sendObject(file, { download, isLinked: true, cacheControl: file.cache_control ?? 'no-cache' })
  })

  app.get('/object/sign/:bucket/*', linkRoute, async (request, reply) => {
    const { params: { bucket, '*': name }, query: { token, download } } = request
    const { object } = checkLink(links.readDownload(token, { bucket, name }))
    const file = await files.named(bucket, name)
    // The link was for what had the name before.
    if (file.id !== object) throw new StorageError('NoSuchKey')
    return await reply.sendObject(file, { download, isLinked: true })
  })

  for (const { path, access, operationId, of, find } of INFO) {
    app.route({
      method: 'GET',
      url: `/object/info${path}/:bucket/*`,
      config: { access },
      schema: {
        operationId,
        tags,
        summary: `Che cosa si sa di un file${of}`,
        params: FileParams,
        response: { 200: ObjectInfo }
      },
      handler: async (request) => presentInfo(await find(files, request, request.params))
    })
  }

  async function sendVisible (
    request: FastifyRequest<{ Params: FileParams, Querystring: { download?: string } }>, reply: FastifyReply
  ) {
    const file = await findVisible(files, request, request.params)
    return await reply.sendObject(file, { download: request.query.download })
  }
}
export default downloadRoutes

function findVisible (files: Files, request: FastifyRequest, { bucket, '*': name }: FileParams) {
  return files.visible(request, bucket, name)
}
