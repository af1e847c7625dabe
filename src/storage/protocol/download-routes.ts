import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { DownloadQuery, FileContent, FileParams, FilePart, LinkQuery, ObjectInfo } from '#schemas/storage-protocol.ts'
import type { Files } from '../files.ts'
import { StorageError } from './errors.ts'
import { tags, type ProtocolOptions } from './options.ts'
import { presentInfo } from './present.ts'
import { checkLink } from './signed-links.ts'

const response = { 200: FileContent, 206: FilePart, 304: Type.Null() }

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

/** Downloads of files, and what is known of them. */
const downloadRoutes: FastifyPluginAsyncTypebox<ProtocolOptions> = async (app, { links, files }) => {
  app.route({
    method: 'GET',
    url: '/object/:bucket/*',
    config: { access: 'auth' },
    schema: {
      operationId: 'storageDownload',
      tags,
      summary: 'Il contenuto di un file',
      params: FileParams,
      querystring: DownloadQuery,
      response
    },
    handler: async (request, reply) => await sendVisible(request, reply, request.params, request.query.download)
  })

  app.route({
    method: 'GET',
    url: '/object/authenticated/:bucket/*',
    config: { access: 'auth' },
    schema: {
      operationId: 'storageDownloadAuthenticated',
      tags,
      summary: 'Il contenuto di un file, con l’indirizzo che lo dice privato',
      params: FileParams,
      querystring: DownloadQuery,
      response
    },
    handler: async (request, reply) => await sendVisible(request, reply, request.params, request.query.download)
  })

  app.route({
    method: 'GET',
    url: '/object/public/:bucket/*',
    config: { access: 'public' },
    schema: {
      operationId: 'storageDownloadPublic',
      tags,
      summary: 'Il contenuto di un file di un bucket pubblico',
      params: FileParams,
      querystring: DownloadQuery,
      response
    },
    handler: async ({ params, query: { download } }, reply) => {
      const file = await files.open(params.bucket, params['*'])
      return await reply.sendObject(file, { download, isLinked: true, cacheControl: file.cache_control ?? 'no-cache' })
    }
  })

  app.route({
    method: 'GET',
    url: '/object/sign/:bucket/*',
    config: { access: 'public' },
    schema: {
      operationId: 'storageDownloadByLink',
      tags,
      summary: 'Il contenuto di un file, con un link firmato',
      params: FileParams,
      querystring: LinkQuery,
      response
    },
    handler: async ({ params: { bucket, '*': name }, query: { token, download } }, reply) => {
      const { object } = checkLink(links.readDownload(token, { bucket, name }))
      const file = await files.named(bucket, name)
      // The link was for what had the name before.
      if (file.id !== object) throw new StorageError('NoSuchKey')
      return await reply.sendObject(file, { download, isLinked: true })
    }
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
    request: FastifyRequest, reply: FastifyReply, params: FileParams, download: string | undefined
  ) {
    return await reply.sendObject(await findVisible(files, request, params), { download })
  }
}
export default downloadRoutes

function findVisible (files: Files, request: FastifyRequest, { bucket, '*': name }: FileParams) {
  return files.visible(request, bucket, name)
}
