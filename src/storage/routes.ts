import createError from '@fastify/error'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { SignedUrl, SignedUrlQuery, StoredFileParams } from '#schemas/signed-url.ts'
import { FileContent, FilePart } from '#schemas/storage-protocol.ts'
import { DOWNLOAD_ERRORS } from '#schemas/errors/groups.ts'
import type { StoredObject } from '#src/services/files/storage.ts'
import { tags, type Files } from './named-files.ts'
import type { Links } from './links.ts'
import { StorageError } from './protocol/errors.ts'

const FileNonTrovato = createError('FILE_NON_TROVATO', 'File non trovato', 404)

/** Seconds, by the contract. */
const LINK_SECONDS = 60

const linkRoute = {
  config: { access: 'auth' },
  schema: {
    operationId: 'getSignedUrl',
    errorCodes: ['FILE_NON_TROVATO'],
    tags,
    summary: 'Un link che legge un file per un minuto',
    querystring: SignedUrlQuery,
    response: { 200: SignedUrl }
  }
} as const

const fileRoute = {
  config: { access: 'auth' },
  schema: {
    operationId: 'getStoredFile',
    errorCodes: ['FILE_NON_TROVATO', ...DOWNLOAD_ERRORS],
    tags,
    summary: 'Un file dell’archivio',
    params: StoredFileParams,
    response: { 200: FileContent, 206: FilePart, 304: Type.Null() }
  }
} as const

interface StorageOptions { publicUrl: string, links: Links, files: Files }

/** The contract's own endpoints of stored files. */
const storageRoutes: FastifyPluginAsyncTypebox<StorageOptions> = async (app, { publicUrl, links, files }) => {
  app.get('/api/storage/signed-url', linkRoute, async (request) => {
    const file = await find(request, request.query.bucket, request.query.file)
    const { token, expiresAt } = links.signDownload(file, LINK_SECONDS)
    const path = encodeURI(`/storage/v1/object/sign/${file.bucket}/${file.name}`)
    return { signedUrl: `${publicUrl}${path}?token=${token}`, expires_at: expiresAt.toISOString() }
  })

  app.get('/api/storage/:bucket/*', fileRoute, async (request, reply) =>
    await reply.sendObject(await find(request, request.params.bucket, request.params['*'])))

  async function find (request: FastifyRequest, bucket: string, name: string): Promise<StoredObject> {
    try {
      return await files.visible(request, bucket, name)
    } catch (err) {
      throw err instanceof StorageError ? new FileNonTrovato() : err
    }
  }
}
export default storageRoutes
