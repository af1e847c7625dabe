import type { Test } from 'tap'
import type { TestApp } from '#test/helper.ts'
import { until } from '#test/alloggiati/stand-in.ts'

/** Locks a booking until it is released. Other transactions then wait for the lock in order. */
export async function bookingLock (t: Test, sql: TestApp['app']['sql'], id: number, mode: 'share' | 'update') {
  const { promise: released, resolve } = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const lock = sql.begin(async (sql) => {
    await sql.unsafe(`select from prenotazioni where id = ${id} for ${mode}`)
    locked.resolve()
    await released
  })
  lock.catch(locked.reject)
  await locked.promise
  const release = async () => {
    resolve()
    await lock
  }
  t.teardown(release)
  return {
    release,
    /** Resolves when this number of transactions in the database wait for a lock. */
    waiting: (count: number) => until(async () => {
      const found = await sql`
        select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
      return found.length === count
    })
  }
}
