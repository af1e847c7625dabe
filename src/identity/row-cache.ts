import { LRUCache } from 'lru-cache'
import type { ChangeListener } from '#src/database/changes.ts'

export type RowCache<T extends object> = ReturnType<typeof rowCache<T>>

/** A notification can be lost with its connection: no entry is used for longer than this. */
const TTL_MS = 10_000
const MAX_ENTRIES = 5000

/** @param changes the listener, asked for only when a row is read: it is built after the cache */
export function rowCache<T extends object> (changes: () => ChangeListener) {
  const cache = new LRUCache<string, T>({ max: MAX_ENTRIES, ttl: TTL_MS })
  /** Counts the changes: a row that was read before a change is not kept after it. */
  let generation = 0

  return {
    get: (id: string): T | undefined => cache.get(id),

    /** Reads it again, and keeps it if nothing has changed meanwhile. */
    async read<R extends T | undefined> (id: string, load: () => Promise<R>): Promise<R> {
      const isListening = await changes().ready()
      const before = generation
      const value = await load()
      if (value !== undefined && isListening && before === generation) cache.set(id, value)
      return value
    },

    /** Drops the entries that have changed. What is being read at this moment is not kept either. */
    drop (isChanged: (id: string, value: T) => boolean): void {
      generation++
      for (const [id, value] of [...cache.entries()]) if (isChanged(id, value)) cache.delete(id)
    }
  }
}
