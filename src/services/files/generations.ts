import { desc, eq } from 'drizzle-orm'
import { storage_keys } from '#drizzle/tables/storage.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Executor } from '#src/database/connect.ts'
import { wrappingKey } from './wrapping.ts'

/** A generation of the key that wraps the keys of files. */
export interface Generation { id: number, key: Buffer }

export interface Generations {
  newest (executor: Executor): Promise<Generation>
  /** Undefined: this process has not met it, and no object has it any more. */
  find (executor: Executor, id: number): Promise<Generation | undefined>
  /**
   * A generation that lasts until the transaction ends: this one, or the newest where a rotation has removed it.
   */
  hold (tx: Executor, id: number): Promise<Generation>
}

/** The generations, as this process has met them: it still knows one that a rotation has removed since. */
export function generations (keys: Pick<Keys, 'derive'>): Generations {
  const secret = keys.derive('storage')
  const known = new Map<number, Generation>()

  function generation ({ id, salt }: { id: number, salt: Buffer }): Generation {
    const found = known.get(id) ?? { id, key: wrappingKey(secret, salt) }
    known.set(id, found)
    return found
  }

  const newestRow = (executor: Executor) => executor.select().from(storage_keys).orderBy(desc(storage_keys.id)).limit(1)

  return {
    async newest (executor) {
      const [row] = await newestRow(executor).prepare('newest_generation').execute()
      return generation(row!)
    },
    async find (executor, id) {
      const found = known.get(id)
      if (found) return found
      const [row] = await executor.select().from(storage_keys).where(eq(storage_keys.id, id))
      return row && generation(row)
    },
    async hold (tx, id) {
      const [row] = await tx.select().from(storage_keys).where(eq(storage_keys.id, id)).for('key share')
        .prepare('held_generation').execute()
      if (row) return generation(row)
      const [next] = await newestRow(tx).for('key share')
      return generation(next!)
    }
  }
}
