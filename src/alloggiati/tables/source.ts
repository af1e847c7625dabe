import type { Database } from '#src/plugins/database/connect.ts'
import type { TipoTabella } from './csv.ts'
import { loadTables, refreshTables } from './store.ts'
import type { Tables } from './tables.ts'

/**
 * The code tables in force. They are read on first use: a process that is never asked for a code does not keep them.
 */
export function tablesSource (db: Database) {
  let current: Promise<Tables> | undefined

  return {
    get (): Promise<Tables> {
      current ??= loadTables(db).catch((err: unknown) => {
        current = undefined
        throw err
      })
      return current
    },

    /** Puts the service's own tables in force. When one of them is not acceptable, all the old ones stay. */
    async refresh (download: (tipo: TipoTabella) => Promise<string>): Promise<void> {
      const refreshed = await refreshTables({ db, download })
      current = Promise.resolve(refreshed)
    }
  }
}
