import { LRUCache } from 'lru-cache'
import type { NotificationListener } from '#src/database/notifications.ts'

export type RowCache<T extends object> = ReturnType<typeof rowCache<T>>

/** A notification can be lost together with its connection, so entries expire after this time. */
const TTL_MS = 10_000
const MAX_ENTRIES = 5000

/** @param notifications returns the listener. Called only by `read`, because the listener is created after the cache */
export function rowCache<T extends object> (notifications: () => NotificationListener) {
  const cache = new LRUCache<string, T>({ max: MAX_ENTRIES, ttl: TTL_MS })
  /** Incremented on every change. A row whose read began before a change is not cached. */
  let generation = 0

  return {
    get: (id: string): T | undefined => cache.get(id),

    /** Reads the row from the database. Caches it if the listener is connected and no change was notified meanwhile. */
    async read<R extends T | undefined> (id: string, load: () => Promise<R>): Promise<R> {
      const isListening = await notifications().ready()
      const before = generation
      const value = await load()
      if (value !== undefined && isListening && before === generation) cache.set(id, value)
      return value
    },

    /** Drops changed entries. Rows that are being read at this moment are not cached either. */
    drop (isChanged: (id: string, value: T) => boolean): void {
      generation++
      for (const [id, value] of [...cache.entries()]) if (isChanged(id, value)) cache.delete(id)
    }
  }
}
