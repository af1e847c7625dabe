import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type postgres from 'postgres'
import t from 'tap'
import { sealSettings } from '#src/alloggiati/ledger/seals/key.ts'
import { readTables } from '#src/backup/tables.ts'
import { connect } from '#src/database/connect.ts'
import { readJournal } from '#src/database/journal.ts'
import { LOCKS } from '#src/database/locks.ts'
import { carryOut, knownMigrations, migrate } from '#src/database/migrate.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { SEALING_KEY, SEALING_KEYS, testDatabase } from '#test/database.ts'
import { build } from '#test/helper.ts'

/** The migrations of 0.1.0. */
const RELEASED = ['0000_init', '0001_rules']

t.test('a database that 0.1.0 has filled keeps its rows in an upgrade, and the server starts on it', async (t) => {
  const { sql, url } = await testDatabase(t, true)
  const released = readJournal().filter(({ tag }) => RELEASED.includes(tag)).map(({ when }) => when)
  t.equal(released.length, RELEASED.length)
  const rows = readFileSync('fixtures/upgrade/0.1.0.sql', 'utf8')
  await sql.begin(async (tx) => {
    await carryOut(tx, knownMigrations().filter(({ folderMillis }) => released.includes(folderMillis)))
    await tx.unsafe(rows)
  })
  const before = await countRows(sql)
  t.same(Object.keys(before).filter((table) => before[table] === 0), [], 'every table has a row')

  await migrate(url, sealSettings(SEALING_KEYS))
  t.match(await countRows(sql), before)
  const { app, call, token } = await build(t, { DATABASE_URL: url, MASTER_KEY: SEALING_KEY.toString('base64') })
  t.match((await call('GET', '/api/v1/prenotazioni/1')).json(), { data: { nome_cognome: 'Anna Prova' } })
  const headers = { authorization: `Bearer ${await token({ role: 'admin' })}` }
  const verify = async (url: string): Promise<object> => (await app.inject({ url, headers })).json()
  t.match(await verify('/api/v1/invii/verifica?da=2026-11-20'), { integra: true, invii_controllati: 1 })
  t.match(await verify('/api/v1/audit/verifica'), { integro: true })
})

t.test('a start during an upgrade says that it waits, and waits longer than a statement may take', async (t) => {
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

async function countRows (sql: postgres.Sql): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { name } of await readTables(sql)) {
    const [{ rows } = { rows: 0 }] = await sql<{ rows: number }[]>`select count(*)::int as rows from ${sql(name)}`
    counts[name] = rows
  }
  return counts
}
