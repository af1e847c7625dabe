import type { FastifyInstance, FastifyRequest } from 'fastify'
import { routesUnder } from '#src/lib/routes-under.ts'
import type { StoredFile } from '#src/services/files/file-service.ts'
import { findBucket, getBucket, isBuiltIn, type BucketRow } from './buckets.ts'
import { isBucketName, isFileName } from './file-names.ts'
import type { Links } from './links.ts'
import type { View } from './object-rows.ts'
import { StorageError } from './protocol/errors.ts'

export type NamedFiles = ReturnType<typeof createNamedFiles>

/** Shared options of the protocol's routes. */
export interface ProtocolOptions { links: Links, namedFiles: NamedFiles }
export const route = routesUnder('Storage')

/** The built-in bucket that anyone may read. Callers with the scope may write to it. */
const OPEN = 'public'

/**
 * Looks up buckets and files by name, and checks rights in addition to the route's guard. Files that a caller may not
 * see are reported as missing.
 */
export function createNamedFiles ({ db, identity, files }: Pick<FastifyInstance, 'db' | 'identity' | 'files'>) {
  const isAdmin = (request: FastifyRequest) => identity.authenticator.isAdmin(request.principal!, request)
  /** Whether the protocol may upload, move or copy files of the bucket. False if other endpoints validate its files. */
  const isWritable = (bucket: string) => bucket === OPEN || !isBuiltIn(bucket)

  /** @throws StorageError NoSuchBucket */
  async function bucket (id: string): Promise<BucketRow> {
    if (!isBucketName(id)) throw new StorageError('NoSuchBucket')
    return await getBucket(db, id)
  }

  /** A file of any bucket, for callers with a link to it. @throws StorageError NoSuchKey */
  async function named (bucket: string, name: string): Promise<StoredFile> {
    const found = isBucketName(bucket) && isFileName(name) ? await files.find(db, bucket, name) : undefined
    if (found === undefined) throw new StorageError('NoSuchKey')
    return found
  }

  /**
   * The files of a bucket that a caller may see. Reports are visible to their owner, the server key and administrators.
   * @throws StorageError NoSuchBucket
   */
  async function view (request: FastifyRequest, id: string): Promise<View> {
    await bucket(id)
    const principal = request.principal!
    const seesAll = id !== 'reports' || principal.kind === 'server' || await isAdmin(request)
    return seesAll ? { bucket: id } : { bucket: id, owner: principal.id }
  }

  /**
   * A file of a public bucket, for a caller whose credential gives no access. For a caller without credentials, all
   * other files are reported as missing.
   * @throws StorageError NoSuchKey, or the denial
   */
  async function openFile ({ denial, principal, refusal }: FastifyRequest, id: string, name: string) {
    if (await isPublic(id)) return await named(id, name)
    const isAnonymous = principal === null && refusal === 'no_authorization'
    throw isAnonymous ? new StorageError('NoSuchKey') : denial!
  }

  const isPublic = async (id: string) => isBucketName(id) && (await findBucket(db, id))?.public === true

  return {
    bucket,
    view,
    named,
    isWritable,
    /** Whether the caller may delete files of the bucket by name. Operators may delete images of documents. */
    mayRemove: async (request: FastifyRequest, bucket: string): Promise<boolean> =>
      isWritable(bucket) || bucket === 'documents' || await isAdmin(request),
    /** A file that the caller may read. @throws StorageError NoSuchBucket, NoSuchKey, or the denial of the guard */
    async visible (request: FastifyRequest, id: string, name: string): Promise<StoredFile> {
      if (request.denial !== null) return await openFile(request, id, name)
      const { owner } = await view(request, id)
      const file = await named(id, name)
      if (owner !== undefined && file.owner !== owner) throw new StorageError('NoSuchKey')
      return file
    },
    /**
     * A file that anyone with its URL may read. `/object/public/a/b.png` means `b.png` in the bucket `a` if that bucket
     * is public. Otherwise it means `a/b.png` in the bucket `public`, because clients use the same URL for both.
     * @throws StorageError NoSuchKey
     */
    async open (first: string, rest: string): Promise<StoredFile> {
      const found = isFileName(rest) && await isPublic(first) ? await files.find(db, first, rest) : undefined
      return found ?? await named(OPEN, `${first}/${rest}`)
    }
  }
}
