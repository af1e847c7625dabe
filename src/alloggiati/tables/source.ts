import type { Database } from '#src/database/connect.ts'
import type { TipoTabella } from './csv.ts'
import { loadTables, refreshTables } from './store.ts'
import type { Tables } from './tables.ts'

export type TablesSource = ReturnType<typeof tablesSource>

/**
 * The code tables in force. They are read on first use: a process that is never asked for a code does not keep them.
 * After `goodForMs` they are read anew: another process may have downloaded others.
 */
export function tablesSource (db: Database, goodForMs = 3_600_000) {
  let current: Promise<Tables> | undefined
  let goodUntil = 0

  return {
    get (): Promise<Tables> {
      if (current !== undefined && performance.now() < goodUntil) return current
      return keep(loadTables(db).catch((err: unknown) => {
        current = undefined
        throw err
      }))
    },

    /** Puts the service's own tables in force. When one of them is not acceptable, all the old ones stay. */
    async refresh (download: (tipo: TipoTabella) => Promise<string>): Promise<void> {
      const refreshed = await refreshTables({ db, download })
      await keep(Promise.resolve(refreshed))
    }
  }

  function keep (tables: Promise<Tables>): Promise<Tables> {
    current = tables
    goodUntil = performance.now() + goodForMs
    return tables
  }
}
