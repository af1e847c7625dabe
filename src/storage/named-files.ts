import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { StoredObject } from '#src/services/files/storage.ts'
import type { StorageAccess } from './access.ts'
import { findBucket, getBucket, type BucketRow } from './buckets.ts'
import { isBucketName, isFileName } from './file-names.ts'
import type { Links } from './links.ts'
import type { View } from './object-rows.ts'
import { StorageError } from './protocol/errors.ts'

export type Files = ReturnType<typeof namedFiles>

/** What the routes of the protocol have in common. */
export interface ProtocolOptions { links: Links, access: StorageAccess, files: Files }
export const tags = ['Storage']

/** Looks for buckets and files as their callers name them. What a caller may not see is not there. */
export function namedFiles ({ db, storage }: Pick<FastifyInstance, 'db' | 'storage'>, access: StorageAccess) {
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

  /** @throws StorageError NoSuchBucket */
  async function view (request: FastifyRequest, id: string): Promise<View> {
    await bucket(id)
    return await access.view(request, id)
  }

  return {
    bucket,
    view,
    named,
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
      return found ?? await named('public', `${first}/${rest}`)
    }
  }
}
