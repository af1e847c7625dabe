import { eq, sql } from 'drizzle-orm'
import type { FastifyBaseLogger } from 'fastify'
import { file_store } from '#drizzle/tables/storage.ts'
import type { Database } from '#src/database/connect.ts'
import type { Backend } from './backends/backend.ts'
import { ArchivioNonDisponibile } from './errors.ts'

/**
 * The place of a database's files, once the first one is stored: an empty file in it has the name that the database
 * knows. So nothing is written into the folder that an unmounted volume leaves, and no two databases share a place: the
 * one would take the other's files for leftovers.
 */
export interface Store {
  /**
   * Sees that it is the place, and makes it the place where no file was ever stored.
   * @throws ArchivioNonDisponibile
   */
  require (): Promise<void>
  /** The name of the empty file; undefined: no file was ever stored. */
  adopted (): Promise<string | undefined>
}

/** @param make makes the place where it is missing; only before the first file is stored */
export function fileStore (
  { db, log, backend, make }: { db: Database, log: FastifyBaseLogger, backend: Backend, make: () => Promise<void> }
): Store {
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
        // An empty one was left by a process that was killed at the end of this function.
        if (size > 0) refuse('the place of the files holds those of another database')
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
      if (!await backend.head(id)) refuse('the place of the files is another one, or is not mounted')
    }
  }
}

async function * none (): AsyncGenerator<Buffer> {}
