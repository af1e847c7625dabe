import type { ImageExtension } from '#schemas/image.ts'
import type { Bucket } from '#schemas/storage.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import type { ForgetAnswers } from '#src/http/idempotency/forgotten-answers.ts'
import type { Storage, StoredObject } from '#src/services/files/storage.ts'
import type { ScanRepository } from './repository.ts'

/* Pictures of scans are stored beside those of the guests' documents; their names say which scan they are of. */

export const PICTURES: Bucket = 'documents'

/** What the answer says of a scan that is kept. */
export const SAVED = 'Scansione salvata'

interface ScanParts { storage: Storage, repository: ScanRepository, forgetAnswers: ForgetAnswers }

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

/**
 * Deletes scans with their pictures, and what stored answers say of them.
 * @returns how many scans there were
 */
export async function discardScans (
  { storage, repository, forgetAnswers }: ScanParts, tx: Transaction, ids: readonly number[]
): Promise<number> {
  if (ids.length === 0) return 0
  await storage.discard(tx, [...(await picturesOf(storage, tx, ids)).values()])
  await forgetAnswers(tx, { said: `"message":"${SAVED}","id":(\\d+)`, names: ids })
  return await repository.remove(tx, ids)
}
