import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { BucketParams } from '#schemas/storage-bucket.ts'
import {
  FileParams, NoFields, SignBody, Signed, SignedMany, SignedUpload, SignManyBody
} from '#schemas/storage-protocol.ts'
import type { Transform } from '#schemas/storage-transform.ts'
import type { StoredFile } from '#src/services/files/file-service.ts'
import { isBuiltIn } from '../buckets.ts'
import { isFileName } from '../file-names.ts'
import { issueLinks } from '../issued-links.ts'
import { findVisible, isTaken } from '../object-rows.ts'
import { route, type ProtocolOptions } from '../named-files.ts'
import { isTransformed } from '../transforms.ts'
import { StorageError } from './errors.ts'

/** Maximum lifetime of a link in seconds, for personal files and for others. For guests' documents it is shorter. */
const MAX_LIFETIME_SECONDS = { personal: 3600, other: 7 * 86_400 }
/** Seconds within which an upload with a link must begin. */
const UPLOAD_SECONDS = 60

const signRoute = route({ access: 'auth', scope: 'lettura' }, 'storageSign', 'Un link che legge un file', {
  params: FileParams, body: SignBody, response: { 200: Signed }
})

const signManyRoute = route({ access: 'auth', scope: 'lettura' }, 'storageSignMany', 'Link che leggono dei file', {
  params: BucketParams, body: SignManyBody, response: { 200: SignedMany }
})

const signUploadRoute = route(
  { access: 'auth', headers: { reads: ['X-Upsert'] } }, 'storageSignUpload', 'Un link che carica un file', {
    params: FileParams, body: NoFields, response: { 200: SignedUpload }
  }
)

/** Routes of links that replace credentials. URLs are not percent-encoded here, because clients encode them. */
const linkRoutes: FastifyPluginAsyncTypebox<ProtocolOptions> = async (app, { links, namedFiles }) => {
  const { db } = app

  app.post('/object/sign/:bucket/*', signRoute, async (request) => {
    const { params: { bucket, '*': name }, body: { expiresIn, transform } } = request
    const file = await namedFiles.visible(request, bucket, name)
    const linked = transform && isTransformed(transform) ? { ...file, transform } : file
    const [signedURL] = await linksTo(request, [linked], expiresIn)
    return { signedURL: signedURL! }
  })

  app.post('/object/sign/:bucket', signManyRoute, async (request) => {
    const { params: { bucket }, body: { expiresIn, paths } } = request
    const view = await namedFiles.view(request, bucket)
    const found = await findVisible(db, view, paths.filter(isFileName))
    const signed = await linksTo(request, found, expiresIn)
    const byName = new Map(found.map(({ name }, at) => [name, signed[at]!]))
    return paths.map((path) => {
      const signedURL = byName.get(path)
      return signedURL !== undefined
        ? { path, error: null, signedURL }
        : { path, error: 'Either the object does not exist or you do not have access to it', signedURL: null }
    })
  })

  app.post('/object/upload/sign/:bucket/*', signUploadRoute, async (request) => {
    const { params: { bucket, '*': name }, principal, headers } = request
    await namedFiles.bucket(bucket)
    if (!namedFiles.isWritable(bucket)) throw new StorageError('AccessDenied')
    if (!isFileName(name)) throw new StorageError('InvalidKey')
    const upsert = headers['x-upsert'] === 'true'
    if (!upsert && await isTaken(db, bucket, name)) throw new StorageError('KeyAlreadyExists')
    const { token } = links.signUpload({ bucket, name }, { owner: principal!.id, upsert }, UPLOAD_SECONDS)
    return { url: `/object/upload/sign/${bucket}/${name}?token=${token}`, token }
  })

  /** Links to files of one bucket, or to a transformed image. */
  async function linksTo (
    request: FastifyRequest, files: readonly (StoredFile & { transform?: Transform })[], seconds: number
  ): Promise<string[]> {
    const isPersonal = files.some(({ bucket }) => isBuiltIn(bucket) && !namedFiles.isWritable(bucket))
    const max = isPersonal ? MAX_LIFETIME_SECONDS.personal : MAX_LIFETIME_SECONDS.other
    const signed = await issueLinks(request, links, files, Math.min(seconds, max))
    return files.map(({ bucket, name, transform }, at) =>
      `/${transform ? 'render/image' : 'object'}/sign/${bucket}/${name}?token=${signed[at]!.token}`)
  }
}
export default linkRoutes
