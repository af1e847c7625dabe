import t, { type Test } from 'tap'
import { connect } from '#src/database/connect.ts'
import { givingWay } from '#src/database/migrate.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { testDatabase } from '#test/database.ts'

/** A transaction that has written to the bookings, and stays open until `free` is called. */
async function bookingsInUse (t: Test) {
  const { url, sql } = await testDatabase(t)
  const [holder, upgrade] = [connect(url, 1, { idle_in_transaction_session_timeout: '0' }), connect(url, 1)]
  const [held, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const holding = holder.sql.begin(async (tx) => {
    await tx`update prenotazioni set lingua = lingua`
    held.resolve()
    await free.promise
  })
  t.teardown(async () => {
    free.resolve()
    await Promise.all([holder.close(), upgrade.close()])
  })
  await held.promise
  return {
    url,
    sql,
    upgrading: givingWay(upgrade.sql, () => upgrade.sql`alter table prenotazioni add column aggiunta text`),
    async free () {
      free.resolve()
      await holding
    }
  }
}

t.test('an upgrade that waits for a table lets others write to it, and continues when the table is free', async (t) => {
  const { url, sql, upgrading, free } = await bookingsInUse(t)
  const other = connect(url, 1, { lock_timeout: '10000' })
  t.teardown(other.close)
  await until(async () => (await sql`select from pg_locks where not granted and relation is not null`).length > 0)
  await other.sql`update prenotazioni set lingua = lingua`
  t.pass('another connection has written while the first transaction was open and the upgrade was waiting')
  await free()
  await upgrading
  t.same(await sql`select aggiunta from prenotazioni`, [])
})

t.test('some waits are longer than `deadlock_timeout`, after which an autovacuum is cancelled', async (t) => {
  const { sql, upgrading, free } = await bookingsInUse(t)
  await until(async () => (await sql`
    select from pg_locks where not granted and relation is not null
      and waitstart < clock_timestamp() - current_setting('deadlock_timeout')::interval`).length > 0)
  await free()
  await upgrading
  t.same(await sql`select aggiunta from prenotazioni`, [])
})

t.test('an upgrade may take longer than a statement of a request', async (t) => {
  const { url } = await testDatabase(t, true)
  const { sql, close } = connect(url, 1, { statement_timeout: '500ms' })
  t.teardown(close)
  t.same(await givingWay(sql, () => sql`select 1 as done from pg_sleep(0.6)`), [{ done: 1 }])
})
