import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import type { Test } from 'tap'
import { connect, type Connection } from '#src/database/connect.ts'
import { readState, STATE_FILE } from '#test/setup/state.ts'

/** The URL of another database on the same server. */
export function databaseUrl (url: string, database: string): string {
  const result = new URL(url)
  result.pathname = `/${database}`
  return result.href
}

/** A database server's address for `net.connect`. The URL of an embedded one has its socket folder. */
export function serverAddress (url: string): { path: string } | { host: string, port: number } {
  const { host, hostname, port } = new URL(url)
  return hostname.startsWith('%2F')
    ? { path: `${decodeURIComponent(host)}/.s.PGSQL.${port}` }
    : { host: hostname, port: Number(port || 5432) }
}

interface TestDatabase extends Connection { url: string }

/**
 * A migrated database for one test, copied from the run's template, and dropped when the test ends.
 * @param isEmpty whether the database has no tables
 */
export async function testDatabase (t: Test, isEmpty = false): Promise<TestDatabase> {
  if (!existsSync(STATE_FILE)) throw new Error('No test cluster: run the file through tap (npx tap test/….test.ts)')
  const { url, template } = readState()
  const name = `test_${randomBytes(6).toString('hex')}`
  // Copies the files of the template. Without fsync, a copy page by page through the WAL is slower.
  await administrator(url)
    .unsafe(`create database ${name} template ${isEmpty ? 'template0' : template} strategy file_copy`)
  const own = databaseUrl(url, name)
  const connection = connect(own, 4)
  t.teardown(async () => {
    await connection.close()
    await drop(url, name)
  })
  return { ...connection, url: own }
}

/** Deletes the key record, so that a server with another key can start on the database. */
export async function forgetKey (sql: postgres.Sql): Promise<void> {
  await sql.unsafe(`alter table registro_chiave disable trigger user; delete from registro_chiave;
    alter table registro_chiave enable trigger user`)
}

/** Drops a database. `force` cannot end background processes of PostgreSQL, but these end after a short time. */
async function drop (url: string, name: string): Promise<void> {
  const sql = administrator(url)
  const [role] = await sql<{ name: string }[]>`
    select rolname as name from pg_roles where rolname =
      (select 'locanda_sql_' || oid from pg_database where datname = ${name})`
  for (let attempt = 1; ; attempt++) {
    try {
      await sql.unsafe(`drop database if exists ${name} with (force)`)
      // The role of the SQL console belongs to the cluster, and is not dropped with the database.
      if (role) await sql.unsafe(`drop role ${role.name}`)
      return
    } catch (err) {
      if (attempt === 20) throw err
      await sleep(250)
    }
  }
}

let administrating: postgres.Sql | undefined

/** Connections for creating and dropping databases, shared in a process. They close after an idle second. */
function administrator (url: string): postgres.Sql {
  administrating ??= postgres(url, { max: 4, idle_timeout: 1, fetch_types: false, onnotice: () => {} })
  return administrating
}
