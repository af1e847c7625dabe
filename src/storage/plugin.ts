import createError from '@fastify/error'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { SignedUrl, SignedUrlQuery, StoredFileParams } from '#schemas/signed-url.ts'
import { FileContent, FilePart } from '#schemas/storage-protocol.ts'
import { DOWNLOAD_ERRORS } from '#schemas/errors/groups.ts'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { FileLink, StoredFile } from '#src/services/files/file-service.ts'
import { issueLinks } from './issued-links.ts'
import { createLinks, type SignedLink } from './links.ts'
import { route, createNamedFiles } from './named-files.ts'
import { StorageError } from './protocol/errors.ts'
import protocol from './protocol/routes.ts'

const FileNonTrovato = createError('FILE_NON_TROVATO', 'File non trovato', 404)

/** Lifetime of a link in seconds, as the contract requires. */
const LINK_SECONDS = 60

const linkRoute = route({ access: 'auth' }, 'getSignedUrl', 'Un link che legge un file per un minuto', {
  errorCodes: ['FILE_NON_TROVATO'], querystring: SignedUrlQuery, response: { 200: SignedUrl }
})

const fileRoute = route({ access: 'auth' }, 'getStoredFile', 'Un file dell’archivio', {
  errorCodes: ['FILE_NON_TROVATO', ...DOWNLOAD_ERRORS],
  params: StoredFileParams,
  response: { 200: FileContent, 206: FilePart, 304: Type.Null() }
})

/** Stored files by name: the contract's endpoints, and the protocol of Supabase Storage. */
const storage: FastifyPluginAsyncTypebox<{ config: Config, keys: Keys }> = async (app, { config, keys }) => {
  const links = createLinks(keys)
  const namedFiles = createNamedFiles(app)
  app.provideFileLinks((file, seconds) => present(file, links.signDownload(file, seconds)))
  await app.register(protocol, { links, namedFiles, prefix: '/storage/v1' })

  app.get('/api/storage/signed-url', linkRoute, async (request) => {
    const file = await find(request, request.query.bucket, request.query.file)
    const [link] = await issueLinks(request, links, [file], LINK_SECONDS)
    return present(file, link!)
  })

  app.get('/api/storage/:bucket/*', fileRoute, async (request, reply) =>
    await reply.sendObject(await find(request, request.params.bucket, request.params['*'])))

  function present ({ bucket, name }: StoredFile, { token, expiresAt }: SignedLink): FileLink {
    const path = encodeURI(`/storage/v1/object/sign/${bucket}/${name}`)
    return { signedUrl: `${config.PUBLIC_URL}${path}?token=${token}`, expires_at: expiresAt.toISOString() }
  }

  async function find (request: FastifyRequest, bucket: string, name: string): Promise<StoredFile> {
    try {
      return await namedFiles.visible(request, bucket, name)
    } catch (err) {
      throw err instanceof StorageError ? new FileNonTrovato() : err
    }
  }
}
export default storage
