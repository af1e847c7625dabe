import { setTimeout as sleep } from 'node:timers/promises'
import type postgres from 'postgres'
import { postgresError } from './problems.ts'

/** So long a change waits for a table that others use: whoever wants that table meanwhile waits behind it. */
const LOCK_WITHIN_MS = 500
/** The pause in which they pass. */
const PAUSE_MS = 1000
/** Who holds a table for longer than this is no request. */
const PATIENCE_MS = 30_000
const LOCK_NOT_AVAILABLE = '55P03'

/**
 * Carries out a transaction that changes tables, in a session that does nothing else afterwards: its statements may
 * take any time. Where a table is in use, it is rolled back, lets others pass and begins again.
 * @throws after half a minute, when a table is still in use
 */
export async function givingWay<T> (sql: postgres.Sql, work: () => Promise<T>): Promise<T> {
  await sql.unsafe(`set statement_timeout = 0; set lock_timeout = ${LOCK_WITHIN_MS}`)
  const limit = performance.now() + PATIENCE_MS
  for (;;) {
    try {
      return await work()
    } catch (err) {
      if (postgresError(err)?.code !== LOCK_NOT_AVAILABLE || performance.now() > limit) throw err
      await sleep(PAUSE_MS)
    }
  }
}
