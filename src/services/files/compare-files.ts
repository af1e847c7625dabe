import { and, eq, gte, inArray, lte, sql } from 'drizzle-orm'
import type { FastifyBaseLogger } from 'fastify'
import { discarded_files, file_store, objects } from '#drizzle/tables/storage.ts'
import type { Database } from '#src/database/connect.ts'
import type { Backend } from './backends/backend.ts'
import { encryptedSize } from './encryption.ts'
import type { BackendMarker } from './backend-marker.ts'

const DAY_MS = 24 * 60 * 60_000
const FOLDERS = Array.from({ length: 256 }, (_, index) => index.toString(16).padStart(2, '0'))

interface Parts {
  db: Database
  backend: Backend
  marker: BackendMarker
  log: FastifyBaseLogger
}

/**
 * Compares database rows with files. It deletes files without a row that are older than a day, because killed processes
 * have left them. It never deletes a row without a file, because a backup may contain the file.
 * @param signal stops the comparison between two folders
 */
export async function compareFiles ({ db, backend, marker, log }: Parts, signal: AbortSignal): Promise<void> {
  const ownId = await marker.adopted()
  if (ownId === undefined) return
  await marker.require()
  let missing = 0
  let removed = 0
  for (const folder of FOLDERS) {
    signal.throwIfAborted()
    const found = await compareFolder(folder)
    missing += found.missing
    removed += found.removed
  }
  await db.update(file_store).set({ missing, compared_at: sql`now()` })
  if (removed > 0) log.warn({ removed }, 'orphaned files were removed')
  if (missing > 0) log.error({ missing }, 'stored files are missing or truncated')

  async function compareFolder (folder: string): Promise<{ missing: number, removed: number }> {
    const files = new Map<string, { size: number, modified: Date }>()
    for await (const { id, ...facts } of backend.list(folder)) if (id !== ownId) files.set(id, facts)
    // Read the rows after the files, so that a file with a new row is not an orphan.
    const rows = await rowsOf(db, folder)
    const rowIds = new Set(rows.map(({ id }) => id))
    const old = Date.now() - DAY_MS
    const leftovers = [...files].filter(([id, { modified }]) => !rowIds.has(id) && modified.getTime() < old)
    const orphans = await withoutTombstone(db, leftovers.map(([id]) => id))
    let gone = 0
    for (const id of orphans) {
      // A file that cannot be deleted is tried again the next night, and the other folders are still compared.
      await backend.delete(id).then(() => gone++, (err: unknown) => {
        log.error({ err, file: id }, 'an orphaned file could not be removed')
      })
    }

    const suspects = rows.filter(({ id, size }) => files.get(id)?.size !== encryptedSize(size))
    let missing = 0
    for (const { id, size } of suspects) if (await isMissing(id, size)) missing++
    return { missing, removed: gone }
  }

  /** A file that was written or deleted after the listing is not missing. */
  async function isMissing (id: string, size: number): Promise<boolean> {
    const facts = await backend.head(id)
    if (facts?.size === encryptedSize(size)) return false
    const rows = await db.select({ id: objects.id }).from(objects).where(eq(objects.id, id))
    if (rows.length === 0) return false
    log.error({ file: id }, 'a stored file is missing or truncated')
    return true
  }
}

async function rowsOf (db: Database, folder: string) {
  const { id, size } = objects
  const first = `${folder}000000-0000-0000-0000-000000000000`
  const last = `${folder}ffffff-ffff-ffff-ffff-ffffffffffff`
  return db.select({ id, size }).from(objects).where(and(gte(id, first), lte(id, last)))
}

/** Leaves out files with a tombstone, because the removal worker deletes them. */
async function withoutTombstone (db: Database, ids: string[]): Promise<string[]> {
  if (ids.length === 0) return []
  const rows = await db.select({ id: discarded_files.id }).from(discarded_files).where(inArray(discarded_files.id, ids))
  const known = new Set(rows.map(({ id }) => id))
  return ids.filter((id) => !known.has(id))
}
