import type { FastifyInstance } from 'fastify'
import type { ImageExtension } from '#schemas/image.ts'
import type { Bucket } from '#schemas/storage.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import type { EraseResponses } from '#src/http/idempotency/erased-responses.ts'
import type { FileService, StoredFile } from '#src/services/files/file-service.ts'
import { scanRepository, type ScanRepository } from './repository.ts'

/* The bucket for images of guests' documents also contains pictures of scans. Their names include the scan's id. */

export const PICTURES: Bucket = 'documents'

/** The message in the response for a saved scan. */
export const SAVED = 'Scansione salvata'

interface ScanParts { files: FileService, repository: ScanRepository, eraseResponses: EraseResponses }

/** The name of a scan's picture. Without an extension, the prefix of that name. */
export function pictureName (id: number, extension: ImageExtension | ''): string {
  return `scansioni/${id}.${extension}`
}

/** The pictures of scans, by the scan's id. */
export async function picturesOf (
  files: FileService, db: Executor, ids: readonly number[]
): Promise<ReadonlyMap<number, StoredFile>> {
  const found = await files.findByPrefixes(db, PICTURES, ids.map((id) => pictureName(id, '')))
  return new Map(found.map((picture) => [Number(/\d+/.exec(picture.name)![0]), picture]))
}

/**
 * Deletes scans with their pictures and the idempotency records about them.
 * @returns the number of deleted scans
 */
export async function discardScans (
  { files, repository, eraseResponses }: ScanParts, tx: Transaction, ids: readonly number[]
): Promise<number> {
  if (ids.length === 0) return 0
  await files.discard(tx, [...(await picturesOf(files, tx, ids)).values()])
  await eraseResponses(tx, { said: `"message":"${SAVED}","id":(\\d+)`, names: ids })
  return await repository.remove(tx, ids)
}

/** Deletes scans, each in a transaction of its own. The audit log records the server as the actor. */
export async function eraseScans (app: FastifyInstance, keys: Keys, ids: readonly number[]): Promise<void> {
  const { db, files, eraseResponses, audit } = app
  for (const id of ids) {
    await db.transaction(async (tx) => {
      await discardScans({ files, eraseResponses, repository: scanRepository(keys) }, tx, [id])
      await audit.append(tx, { actor: 'sistema', action: 'scansione_eliminata', object: `scansione:${id}` })
    })
  }
}
