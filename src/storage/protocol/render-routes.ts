import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { FileContent, FileParams, FilePart, LinkQuery, RenderQuery } from '#schemas/storage-protocol.ts'
import type { Transform } from '#schemas/storage-transform.ts'
import type { StoredFile } from '#src/services/files/file-service.ts'
import { route, type ProtocolOptions } from '../named-files.ts'
import { followLink } from '../issued-links.ts'
import { createRenditions } from '../renditions.ts'
import { describeRendering, isNegotiated, renderingOf } from '../transforms.ts'

const content = { 200: FileContent, 206: FilePart, 304: Type.Null() }
const rendered = { params: FileParams, querystring: RenderQuery, response: content }

const headers = { sends: { 'X-Transformations': [200, 206, 304] } } as const

const publicRoute = route(
  { access: 'public', headers }, 'storageRenderPublic', 'Un’immagine di un bucket pubblico, trasformata', rendered
)

const authenticatedRoute = route(
  { access: 'auth', headers }, 'storageRender', 'Un’immagine trasformata', rendered
)

const linkRoute = route(
  { access: 'public', headers }, 'storageRenderByLink', 'Un’immagine trasformata come dice il suo link firmato', {
    params: FileParams, querystring: LinkQuery, response: content
  }
)

type Options = NonNullable<Parameters<FastifyReply['sendObject']>[1]>

/** Routes that return stored images in other sizes and formats. */
const renderRoutes: FastifyPluginAsyncTypebox<ProtocolOptions> = async (app, { links, namedFiles }) => {
  const renditions = createRenditions(app)

  app.get('/render/image/public/:bucket/*', publicRoute, async (request, reply) => {
    const { params: { bucket, '*': name }, query } = request
    const image = await namedFiles.open(bucket, name)
    const options = { download: query.download, isLinked: true, cacheControl: image.cache_control ?? 'no-cache' }
    return await send(request, reply, image, query, options)
  })

  app.get('/render/image/authenticated/:bucket/*', authenticatedRoute, async (request, reply) => {
    const { params: { bucket, '*': name }, query } = request
    const image = await namedFiles.visible(request, bucket, name)
    return await send(request, reply, image, query, { download: query.download })
  })

  app.get('/render/image/sign/:bucket/*', linkRoute, async (request, reply) => {
    const { params: { bucket, '*': name }, query: { token, download } } = request
    const { file, issuer, transform = {} } = await followLink(app, { links, namedFiles }, { bucket, name }, token)
    const options = { download, isLinked: true, isSigned: true, reader: issuer?.id }
    return await send(request, reply, file, transform, options)
  })

  async function send (
    request: FastifyRequest, reply: FastifyReply, image: StoredFile, transform: Transform, options: Options
  ) {
    const rendering = renderingOf(transform, request.headers.accept)
    const { file, content } = await renditions.get(request, reply, image, rendering)
    if (isNegotiated(transform)) reply.header('vary', [reply.getHeader('vary') ?? [], 'Accept'].flat().join(', '))
    reply.header('x-transformations', describeRendering(rendering))
    return await reply.sendObject(file, { ...options, content, original: image })
  }
}
export default renderRoutes
