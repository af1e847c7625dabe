import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { DownloadQuery, FileContent, FileParams, FilePart, LinkQuery, ObjectInfo } from '#schemas/storage-protocol.ts'
import { StorageError } from './errors.ts'
import { tags, type ProtocolOptions } from './options.ts'
import { presentInfo } from './present.ts'
import { checkLink } from './signed-links.ts'

const response = { 200: FileContent, 206: FilePart, 304: Type.Null() }

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

  app.route({
    method: 'GET',
    url: '/object/info/:bucket/*',
    config: { access: 'auth' },
    schema: {
      operationId: 'storageInfo',
      tags,
      summary: 'Che cosa si sa di un file',
      params: FileParams,
      response: { 200: ObjectInfo }
    },
    handler: async (request) =>
      presentInfo(await files.visible(request, request.params.bucket, request.params['*']))
  })

  app.route({
    method: 'GET',
    url: '/object/info/authenticated/:bucket/*',
    config: { access: 'auth' },
    schema: {
      operationId: 'storageInfoAuthenticated',
      tags,
      summary: 'Che cosa si sa di un file, con l’indirizzo che lo dice privato',
      params: FileParams,
      response: { 200: ObjectInfo }
    },
    handler: async (request) =>
      presentInfo(await files.visible(request, request.params.bucket, request.params['*']))
  })

  app.route({
    method: 'GET',
    url: '/object/info/public/:bucket/*',
    config: { access: 'public' },
    schema: {
      operationId: 'storageInfoPublic',
      tags,
      summary: 'Che cosa si sa di un file di un bucket pubblico',
      params: FileParams,
      response: { 200: ObjectInfo }
    },
    handler: async ({ params }) => presentInfo(await files.open(params.bucket, params['*']))
  })

  async function sendVisible (
    request: FastifyRequest, reply: FastifyReply, { bucket, '*': name }: FileParams, download: string | undefined
  ) {
    return await reply.sendObject(await files.visible(request, bucket, name), { download })
  }
}
export default downloadRoutes
