import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { connect } from '#src/plugins/database/connect.ts'
import { LOCKS } from '#src/plugins/database/locks.ts'
import { migrate } from '#src/plugins/database/migrate.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { databaseBefore } from '#test/migration.ts'

t.test('an upgrade that waits for a table lets others work in it, and goes on when the table is free', async (t) => {
  const { url } = await databaseBefore(t, '0022_events')
  const holder = connect(url, 1, { idle_in_transaction_session_timeout: '0' })
  const other = connect(url, 1, { lock_timeout: '10000' })
  const [held, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  t.teardown(async () => {
    free.resolve()
    await Promise.all([holder.close(), other.close()])
  })
  const holding = holder.sql.begin(async (tx) => {
    await tx`update prenotazioni set lingua = lingua`
    held.resolve()
    await free.promise
  })
  await held.promise
  const upgrading = migrate(url)
  const { sql } = other
  await until(async () => (await sql`select from pg_locks where not granted and relation is not null`).length > 0)
  await sql`update prenotazioni set lingua = lingua`
  t.pass('another has written while the first transaction was open and the upgrade was under way')
  free.resolve()
  await holding
  t.match(await upgrading, { from: '0021_second_factor_rules' })
})

t.test('an upgrade waits at times longer than `deadlock_timeout`, after which an autovacuum gives way', async (t) => {
  const { url, sql } = await databaseBefore(t, '0022_events')
  const holder = connect(url, 1, { idle_in_transaction_session_timeout: '0' })
  const [held, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  t.teardown(async () => {
    free.resolve()
    await holder.close()
  })
  const holding = holder.sql.begin(async (tx) => {
    await tx`update prenotazioni set lingua = lingua`
    held.resolve()
    await free.promise
  })
  await held.promise
  const upgrading = migrate(url)
  await until(async () => (await sql`
    select from pg_locks where not granted and relation is not null
      and waitstart < clock_timestamp() - current_setting('deadlock_timeout')::interval`).length > 0)
  free.resolve()
  await holding
  t.match(await upgrading, { from: '0021_second_factor_rules' })
})

t.test('a migration may take longer than a statement of a request', async (t) => {
  const { url, sql } = await databaseBefore(t, '0014_booking_changes')
  await sql`
    insert into prenotazioni (nome_cognome, lingua, paese_id, check_in, check_out, numero_ospiti)
    values ('Ospite di Prova', 'IT', 380, '2026-11-21', '2026-11-22', 1)`
  await sql.unsafe(`
    create function aspetta () returns trigger language plpgsql as 'begin perform pg_sleep(0.6); return new; end';
    create trigger aspetta before update on prenotazioni for each row execute function aspetta()`)
  t.match(await migrate(url, { statement_timeout: '500ms' }), { from: '0013_storage_rows' })
})

t.test('who starts during an upgrade says that it waits, and waits longer than a statement may take', async (t) => {
  const { url } = await databaseBefore(t, '0022_events')
  const other = connect(url, 1)
  t.teardown(other.close)
  await other.sql`select pg_advisory_lock(${LOCKS.migrations})`
  const said: string[] = []
  const upgrading = migrate(url, { statement_timeout: '500ms' }, (what) => { said.push(what) })
  await until(() => said.length > 0)
  t.same(said, ['another process starts on this database and may be upgrading it: waiting for it'])
  await sleep(800)
  await other.sql`select pg_advisory_unlock(${LOCKS.migrations})`
  t.match(await upgrading, { from: '0021_second_factor_rules' })
  t.equal(said[1], 'the database is being upgraded')
})
