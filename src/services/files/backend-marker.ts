import { eq, sql } from 'drizzle-orm'
import type { FastifyBaseLogger } from 'fastify'
import { file_store } from '#drizzle/tables/storage.ts'
import type { Database } from '#src/database/connect.ts'
import type { Backend } from './backends/backend.ts'
import { ArchivioNonDisponibile } from './errors.ts'

/**
 * Verifies that the file backend belongs to this database: it contains an empty marker file, whose name is in the
 * database. The marker is created with the first file. Without the marker no file is written, because the volume may
 * not be mounted. Two databases cannot share a backend, because each would delete the other's files as orphans.
 */
export interface BackendMarker {
  /**
   * Checks the marker. If no file was stored yet, creates the marker.
   * @throws ArchivioNonDisponibile
   */
  require (): Promise<void>
  /** The name of the marker file, or undefined before the first file. */
  adopted (): Promise<string | undefined>
}

/** @param make creates the folder if it is missing. It runs only for the first file */
export function backendMarker (
  { db, log, backend, make }: { db: Database, log: FastifyBaseLogger, backend: Backend, make: () => Promise<void> }
): BackendMarker {
  function refuse (message: string): never {
    log.error(message)
    throw new ArchivioNonDisponibile()
  }

  async function adopted (): Promise<string | undefined> {
    const [row] = await db.select().from(file_store).prepare('file_store').execute()
    return row!.adopted_at === null ? undefined : row!.id
  }

  async function adopt (): Promise<void> {
    await db.transaction(async (tx) => {
      const [row] = await tx.select().from(file_store).for('update')
      if (row!.adopted_at !== null) return
      await make()
      for await (const { size } of backend.list()) {
        // A process that was killed in this function has left an empty file.
        if (size > 0) refuse('the file backend holds the files of another database')
      }
      await backend.put(row!.id, none())
      await tx.update(file_store).set({ adopted_at: sql`now()` }).where(eq(file_store.id, row!.id))
    })
  }

  return {
    adopted,
    async require () {
      const id = await adopted()
      if (id === undefined) return adopt()
      if (!await backend.head(id)) refuse('the file backend belongs to another database, or is not mounted')
    }
  }
}

async function * none (): AsyncGenerator<Buffer> {}
