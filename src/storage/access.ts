import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isOfTheProduct } from './buckets.ts'
import type { View } from './object-rows.ts'

/** Of the product's buckets, the one whose files anybody reads and callers with the scope write. */
const OPEN = 'public'

export type StorageAccess = ReturnType<typeof storageAccess>

/** Who may do what with files, beyond what the guard of a route has asked. */
export function storageAccess ({ identity }: Pick<FastifyInstance, 'identity'>) {
  const isAdmin = (request: FastifyRequest) => identity.authenticator.isAdmin(request.principal!, request)
  /** Whether files of the bucket are uploaded, moved or copied by the protocol: not where an endpoint checks them. */
  const isWritable = (bucket: string) => bucket === OPEN || !isOfTheProduct(bucket)

  return {
    isWritable,
    /** What a caller sees of a bucket that exists. Reports are their owner's, the server key's and administrators'. */
    async view (request: FastifyRequest, bucket: string): Promise<View> {
      const principal = request.principal!
      const seesAll = bucket !== 'reports' || principal.kind === 'server' || await isAdmin(request)
      return seesAll ? { bucket } : { bucket, owner: principal.id }
    },
    /** Whether the caller may delete files of the bucket by their names: images as the booking that they belong to. */
    mayRemove: async (request: FastifyRequest, bucket: string): Promise<boolean> =>
      isWritable(bucket) || bucket === 'documents' || await isAdmin(request)
  }
}
