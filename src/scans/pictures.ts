import type { ImageExtension } from '#schemas/image.ts'
import type { Bucket } from '#schemas/storage.ts'
import type { Executor, Transaction } from '#src/plugins/database/connect.ts'
import type { Storage, StoredObject } from '#src/plugins/storage/storage.ts'
import type { ScanRepository } from './repository.ts'

/* Pictures of scans are stored beside those of the guests' documents; their names say which scan they are of. */

export const PICTURES: Bucket = 'documents'

export function pictureName (id: number, extension: ImageExtension | ''): string {
  return `scansioni/${id}.${extension}`
}

/** The pictures of scans, by the scan's id. */
export async function picturesOf (
  storage: Storage, db: Executor, ids: readonly number[]
): Promise<ReadonlyMap<number, StoredObject>> {
  const found = await storage.findByPrefixes(db, PICTURES, ids.map((id) => pictureName(id, '')))
  return new Map(found.map((picture) => [Number(/\d+/.exec(picture.name)![0]), picture]))
}

/** Deletes scans with their pictures. @returns how many scans there were */
export async function discardScans (
  { storage, repository }: { storage: Storage, repository: ScanRepository }, tx: Transaction, ids: readonly number[]
): Promise<number> {
  await storage.discard(tx, [...(await picturesOf(storage, tx, ids)).values()])
  return await repository.remove(tx, ids)
}
