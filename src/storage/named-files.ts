import type { FastifyInstance, FastifyRequest } from 'fastify'
import { routesUnder } from '#src/lib/routes-under.ts'
import type { StoredObject } from '#src/services/files/storage.ts'
import { findBucket, getBucket, isOfTheProduct, type BucketRow } from './buckets.ts'
import { isBucketName, isFileName } from './file-names.ts'
import type { Links } from './links.ts'
import type { View } from './object-rows.ts'
import { StorageError } from './protocol/errors.ts'

export type Files = ReturnType<typeof namedFiles>

/** What the routes of the protocol have in common. */
export interface ProtocolOptions { links: Links, files: Files }
export const route = routesUnder('Storage')

/** Of the product's buckets, the one whose files anybody reads and callers with the scope write. */
const OPEN = 'public'

/**
 * Looks for buckets and files as their callers name them, and says who may do what with them beyond what the guard of a
 * route has asked. What a caller may not see is not there.
 */
export function namedFiles ({ db, identity, storage }: Pick<FastifyInstance, 'db' | 'identity' | 'storage'>) {
  const isAdmin = (request: FastifyRequest) => identity.authenticator.isAdmin(request.principal!, request)
  /** Whether files of the bucket are uploaded, moved or copied by the protocol: not where an endpoint checks them. */
  const isWritable = (bucket: string) => bucket === OPEN || !isOfTheProduct(bucket)

  /** @throws StorageError NoSuchBucket */
  async function bucket (id: string): Promise<BucketRow> {
    if (!isBucketName(id)) throw new StorageError('NoSuchBucket')
    return await getBucket(db, id)
  }

  /** A file whatever its bucket: for who has shown a link to it. @throws StorageError NoSuchKey */
  async function named (bucket: string, name: string): Promise<StoredObject> {
    const found = isBucketName(bucket) && isFileName(name) ? await storage.find(db, bucket, name) : undefined
    if (found === undefined) throw new StorageError('NoSuchKey')
    return found
  }

  /**
   * What a caller sees of a bucket. Reports are their owner's, the server key's and administrators'.
   * @throws StorageError NoSuchBucket
   */
  async function view (request: FastifyRequest, id: string): Promise<View> {
    await bucket(id)
    const principal = request.principal!
    const seesAll = id !== 'reports' || principal.kind === 'server' || await isAdmin(request)
    return seesAll ? { bucket: id } : { bucket: id, owner: principal.id }
  }

  return {
    bucket,
    view,
    named,
    isWritable,
    /** Whether the caller may delete files of the bucket by their names: images as the booking that they belong to. */
    mayRemove: async (request: FastifyRequest, bucket: string): Promise<boolean> =>
      isWritable(bucket) || bucket === 'documents' || await isAdmin(request),
    /** A file that the caller of a guarded route may read. @throws StorageError NoSuchBucket, NoSuchKey */
    async visible (request: FastifyRequest, id: string, name: string): Promise<StoredObject> {
      const { owner } = await view(request, id)
      const file = await named(id, name)
      if (owner !== undefined && file.owner !== owner) throw new StorageError('NoSuchKey')
      return file
    },
    /**
     * A file that whoever has its address may read: `/object/public/a/b.png` is `b.png` of the bucket `a`, when that is
     * public; else `a/b.png` of the bucket that is called `public`, which clients ask for in the same words.
     * @throws StorageError NoSuchKey
     */
    async open (first: string, rest: string): Promise<StoredObject> {
      const bucket = isBucketName(first) ? await findBucket(db, first) : undefined
      const found = bucket?.public && isFileName(rest) ? await storage.find(db, first, rest) : undefined
      return found ?? await named(OPEN, `${first}/${rest}`)
    }
  }
}
