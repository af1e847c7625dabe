import { LRUCache } from 'lru-cache'
import type { Changes } from '../changes.ts'

/** What was read from the database, believed until it says that it has changed. */
export interface Remembered<T> {
  get (id: string): T | undefined
  /** Reads it anew. */
  read (id: string, load: () => Promise<T | undefined>): Promise<T | undefined>
  /** Something has changed: what these are, and whatever is being read at this moment, is not believed any more. */
  drop (isChanged: (id: string, value: T) => boolean): void
}

/** Should a notification be lost with its connection, nothing is believed for longer than this. */
const REMEMBERED_MS = 10_000
const AT_MOST = 5000

export function remembered<T extends object> (changes: () => Changes): Remembered<T> {
  const cache = new LRUCache<string, T>({ max: AT_MOST, ttl: REMEMBERED_MS })
  let generation = 0

  return {
    get: (id) => cache.get(id),

    async read (id, load) {
      const isHeard = await changes().ready()
      const before = generation
      const value = await load()
      if (value !== undefined && isHeard && before === generation) cache.set(id, value)
      return value
    },

    drop (isChanged) {
      generation++
      for (const [id, value] of [...cache.entries()]) if (isChanged(id, value)) cache.delete(id)
    }
  }
}
