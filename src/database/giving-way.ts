import { setTimeout as sleep } from 'node:timers/promises'
import type postgres from 'postgres'
import { postgresError } from './problems.ts'

/** So long a change waits for a table that others use: whoever wants that table meanwhile waits behind it. */
const LOCK_WITHIN_MS = 500
/**
 * Every fifth time it waits longer than `deadlock_timeout`, which is a second unless the database says otherwise: only
 * after that time does PostgreSQL end an autovacuum that holds the table.
 */
const LONGER_MS = 1300
const LONGER_EVERY = 5
/** The pause in which they pass. */
const PAUSE_MS = 1000
/** Who holds a table for longer than this is no request. */
const PATIENCE_MS = 30_000
const LOCK_NOT_AVAILABLE = '55P03'

/**
 * Carries out a transaction that changes tables, in a session that does nothing else afterwards: its statements may
 * take any time. Where a table is in use, it is rolled back, lets others pass and begins again.
 * @throws when a table is still in use half a minute after it was so for the first time
 */
export async function givingWay<T> (sql: postgres.Sql, work: () => Promise<T>): Promise<T> {
  // From the first refusal: the work until then may have been long.
  let limit = Infinity
  for (let attempt = 1; ; attempt++) {
    const within = attempt % LONGER_EVERY === 0 ? LONGER_MS : LOCK_WITHIN_MS
    await sql.unsafe(`set statement_timeout = 0; set lock_timeout = ${within}`)
    try {
      return await work()
    } catch (err) {
      if (postgresError(err)?.code !== LOCK_NOT_AVAILABLE || performance.now() > limit) throw err
      limit = Math.min(limit, performance.now() + PATIENCE_MS)
      await sleep(PAUSE_MS)
    }
  }
}
