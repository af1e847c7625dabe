import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Principal } from '#src/http/auth.ts'
import { isOfTheProduct } from './buckets.ts'
import type { View } from './objects.ts'

/** Of the product's buckets, the one whose files anybody reads and callers with the scope write. */
const OPEN = 'public'

/** Who may do what with files, beyond what the guard of a route has asked. */
export interface StorageAccess {
  /** What a caller sees of a bucket that exists. Reports are their owner's, the server key's and administrators'. */
  view (request: FastifyRequest, bucket: string): Promise<View>
  /** Whether files of the bucket are uploaded, moved or copied by the protocol: not where an endpoint checks them. */
  isWritable (bucket: string): boolean
  /** Whether the caller may delete files of the bucket by their names: images as the booking that they belong to. */
  mayRemove (request: FastifyRequest, bucket: string): Promise<boolean>
}

export function storageAccess (app: FastifyInstance): StorageAccess {
  const isAdmin = (request: FastifyRequest) => app.identity.authenticator.isAdmin(request.principal!, request)
  const isWritable = (bucket: string) => bucket === OPEN || !isOfTheProduct(bucket)

  return {
    isWritable,
    async view (request, bucket) {
      const principal = request.principal!
      const seesAll = bucket !== 'reports' || principal.kind === 'server' || await isAdmin(request)
      return seesAll ? { bucket } : { bucket, owner: principal.id }
    },
    mayRemove: async (request, bucket) => isWritable(bucket) || bucket === 'documents' || await isAdmin(request)
  }
}

/** The name of an owner as the protocol tells it: a person's id; of a machine none. */
export function ownerId (owner: Principal['id'] | null): string {
  return owner?.startsWith('user:') ? owner.slice('user:'.length) : ''
}
