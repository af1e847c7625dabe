import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type postgres from 'postgres'
import t, { type Test } from 'tap'
import { readTables } from '#src/backup/saved-tables.ts'
import { connect } from '#src/database/connect.ts'
import { MIGRATIONS, readJournal } from '#src/database/journal.ts'
import { LOCKS } from '#src/database/locks.ts'
import { applyMigrations, retryOnLockTimeout, knownMigrations, migrate } from '#src/database/migrate.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { databaseUrl, testDatabase } from '#test/database.ts'
import { build } from '#test/helper.ts'

/** Migrations of version 0.1.0. */
const RELEASED = ['0000_init', '0001_rules']
/** The master key of the fixture. */
const MASTER_KEY = Buffer.alloc(32, 1).toString('base64')

t.test('a database filled by 0.1.0 keeps its rows in an upgrade, and the server starts on it', async (t) => {
  const { sql, url } = await testDatabase(t, true)
  const released = readJournal().filter(({ tag }) => RELEASED.includes(tag)).map(({ when }) => when)
  t.equal(released.length, RELEASED.length)
  const rows = readFileSync('fixtures/upgrade/0.1.0.sql', 'utf8')
  await sql.begin(async (tx) => {
    await applyMigrations(tx, knownMigrations().filter(({ folderMillis }) => released.includes(folderMillis)))
    // Triggers of 0.1.0 computed keyed hashes from session settings.
    await tx`select set_config('locanda.sigillo_' || part, repeat('5c', 64), true) from unnest('{i,o}'::text[]) as part`
    await tx.unsafe(rows)
    // People whom an administrator created without a role, and other people.
    await tx`insert into users (email, app_metadata) values ('senza@example.org', '{"provider": "email"}'),
      ('nulla@example.org', '{"role": null}'), ('attesa@example.org', '{"role": "pending"}'),
      ('altro@example.org', '{"role": "editor"}'), ('elenco@example.org', '{"roles": ["operator"]}')`
  })
  const before = await countRows(sql)
  t.same(Object.keys(before).filter((table) => before[table] === 0), [], 'every table has a row')

  await migrate(url)
  t.match(await countRows(sql), { ...before, buckets: before.buckets! + 1 })
  const roles = await sql`
    select split_part(email, '@', 1) as name, app_metadata ->> 'role' as role from users order by 1`
  t.same(roles.map(({ name, role }) => [name, role]), [
    ['altro', 'editor'], ['anna', 'admin'], ['attesa', 'pending'], ['elenco', null], ['nulla', 'operator'],
    ['senza', 'operator']
  ], 'people without a role were operators, and stay so')
  t.same(await sql`select count(*)::int as other from objects where object_id <> id`, [{ other: 0 }])
  const { app, call, token } = await build(t, { DATABASE_URL: url, MASTER_KEY })
  t.match((await call('GET', '/api/v1/prenotazioni/1')).json(), {
    data: { nome_cognome: 'Anna Prova', unita_id: null }
  })
  t.match((await call('GET', '/api/v1/strutture')).json(), {
    data: [{ id: 1, nome: 'Locanda di prova', tipo: null, fuso_orario: 'Europe/Rome', versione: 0 }]
  })
  t.match((await call('GET', '/api/v1/struttura')).json(), { data: { nome: 'Locanda di prova' } })
  const headers = { authorization: `Bearer ${await token({ role: 'admin' })}` }
  const verify = async (url: string): Promise<object> => (await app.inject({ url, headers })).json()
  t.match(await verify('/api/v1/invii/verifica?da=2026-11-20'), { integra: true, invii_controllati: 1 })
  t.match(await verify('/api/v1/audit/verifica'), { integro: true })
})

t.test('units of earlier versions belong to the first establishment, and keep bookings and blocks', async (t) => {
  const { sql, url } = await testDatabase(t, true)
  const newer = readJournal().find(({ tag }) => tag === '0012_establishments')!.when
  await sql.begin(async (tx) => {
    await applyMigrations(tx, knownMigrations().filter(({ folderMillis }) => folderMillis < newer))
    await tx`insert into unita (nome, tipo, posti_letto, ospiti_massimi) select 'Camera ' || n, 'camera', 2, 2
      from generate_series(1, 2) n`
    await tx`
      insert into prenotazioni (nome_cognome, lingua, paese_id, check_in, check_out, numero_ospiti, unita_id)
      values ('Anna Prova', 'IT', 380, '2026-11-20', '2026-11-23', 2, 2)`
    await tx`insert into blocchi (unita_id, dal, al, motivo) values (1, '2026-11-20', '2026-11-22', 'uso_proprio')`
    t.same(await tx`select from struttura`, [], 'no establishment was saved')
  })
  await migrate(url)
  const { app, call, token } = await build(t, { DATABASE_URL: url })
  const read = async (path: string) => (await call('GET', `/api/v1/${path}`)).json<object>()
  t.match(await read('strutture'), { data: [{ id: 1, nome: null, versione: 0 }] })
  t.match(await read('unita'), { data: [{ id: 1, struttura_id: 1 }, { id: 2, struttura_id: 1 }] })
  t.match(await read('prenotazioni/1'), { data: { unita_id: 2 } })
  t.match(await read('calendario?da=2026-11-20&a=2026-11-24'), {
    data: [
      { unita: { id: 1 }, blocchi: [{ dal: '2026-11-20', al: '2026-11-22' }] },
      { unita: { id: 2 }, prenotazioni: [{ id: 1, dal: '2026-11-20', al: '2026-11-23' }] }
    ]
  })
  const headers = { authorization: `Bearer ${await token({ role: 'admin' })}` }
  const payload = { nome: 'Casa del Porto' }
  const made = await app.inject({ method: 'POST', url: '/api/v1/strutture', headers, payload })
  t.match(made.json(), { data: { id: 2 } }, 'the next establishment has the next id')
})

t.test('a database with an encoding other than UTF8 is refused at the start, before any migration', async (t) => {
  const { sql, url } = await testDatabase(t, true)
  const name = `${new URL(url).pathname.slice(1)}_ascii`
  await sql.unsafe(`create database ${name} template template0 encoding 'SQL_ASCII' locale 'C'`)
  t.teardown(() => sql.unsafe(`drop database ${name} with (force)`))
  const start = build(t, { DATABASE_URL: databaseUrl(url, name) })
  await t.rejects(start, { message: /DATABASE_URL.*codifica SQL_ASCII, e non UTF8/s })
})

t.test("a start waits for another process's upgrade, longer than the statement timeout, and logs it", async (t) => {
  const { url } = await testDatabase(t, true)
  const other = connect(url, 1)
  t.teardown(other.close)
  await other.sql`select pg_advisory_lock(${LOCKS.migrations})`
  const said: string[] = []
  const upgrading = migrate(url, { statement_timeout: '500ms' }, (what) => { said.push(what) })
  await until(() => said.length > 0)
  t.same(said, ['another process starts on this database and may be upgrading it: waiting for it'])
  await sleep(800)
  await other.sql`select pg_advisory_unlock(${LOCKS.migrations})`
  t.match(await upgrading, { from: null })
})

t.test('only the newest migration has a snapshot, on one line', (t) => {
  const folder = join(MIGRATIONS, 'meta')
  const newest = `${String(readJournal().at(-1)!.idx).padStart(4, '0')}_snapshot.json`
  t.same(readdirSync(folder).toSorted(), [newest, '_journal.json'], 'run `npm run migrations`')
  t.equal(readFileSync(join(folder, newest), 'utf8').split('\n').length, 2)
  t.end()
})

async function countRows (sql: postgres.Sql): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { name } of await readTables(sql)) {
    const [{ rows } = { rows: 0 }] = await sql<{ rows: number }[]>`select count(*)::int as rows from ${sql(name)}`
    counts[name] = rows
  }
  return counts
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** The first argument of each advisory lock call in a folder's files. */
function locksIn (folder: string, ending: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => readFileSync(join(ROOT, folder, name), 'utf8'))
    .flatMap((text) => [...text.matchAll(/pg_(?:try_)?advisory\w*\(([^,):]+)/g)])
    .map(([, argument]) => /LOCKS\.\w+/.exec(argument!)?.[0] ?? argument!)
}

t.test('all advisory locks have different numbers', async (t) => {
  t.equal(new Set(Object.values(LOCKS)).size, Object.values(LOCKS).length)
})

/** Locks taken by database functions. The code may take them, too. */
const OF_MIGRATIONS = ['ledgerChain', 'auditChain', 'eventWake', 'units'] as const

t.test('the locks in migrations have the numbers of LOCKS', async (t) => {
  const taken = new Set(locksIn('drizzle/migrations', '.sql').map(Number))
  t.same([...taken].sort(), OF_MIGRATIONS.map((name) => LOCKS[name]).sort())
})

t.test('every lock that the code takes is in LOCKS, and every one of LOCKS is used', async (t) => {
  const taken = new Set([...locksIn('src', '.ts'), ...OF_MIGRATIONS.map((name) => `LOCKS.${name}`)])
  t.same([...taken].sort(), Object.keys(LOCKS).map((name) => `LOCKS.${name}`).sort())
})

/** An open transaction that has written to the bookings. `free` ends the transaction. */
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
    upgrading: retryOnLockTimeout(upgrade.sql, () => upgrade.sql`alter table prenotazioni add column aggiunta text`),
    async free () {
      free.resolve()
      await holding
    }
  }
}

t.test('while an upgrade waits for a table, others can write to it, and then the upgrade continues', async (t) => {
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

t.test('an upgrade may wait past `deadlock_timeout`, so that PostgreSQL cancels a blocking autovacuum', async (t) => {
  const { sql, upgrading, free } = await bookingsInUse(t)
  await until(async () => (await sql`
    select from pg_locks where not granted and relation is not null
      and waitstart < clock_timestamp() - current_setting('deadlock_timeout')::interval`).length > 0)
  await free()
  await upgrading
  t.same(await sql`select aggiunta from prenotazioni`, [])
})

t.test('an upgrade ignores the statement timeout', async (t) => {
  const { url } = await testDatabase(t, true)
  const { sql, close } = connect(url, 1, { statement_timeout: '500ms' })
  t.teardown(close)
  t.same(await retryOnLockTimeout(sql, () => sql`select 1 as done from pg_sleep(0.6)`), [{ done: 1 }])
})
