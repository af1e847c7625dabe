import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { migrate as drizzleMigrate } from 'drizzle-orm/postgres-js/migrator'
import type { Test } from 'tap'
import { connect, type Connection } from '#src/plugins/database/connect.ts'
import { databaseUrl, testDatabase } from './database.ts'
import { temporaryFolder } from './helper.ts'

const MIGRATIONS = fileURLToPath(new URL('../drizzle/migrations', import.meta.url))

/** A database as it was before a migration. */
export async function databaseBefore (t: Test, tag: string): Promise<Connection & { url: string }> {
  const database = await emptyDatabase(t)
  await drizzleMigrate(database.db, { migrationsFolder: migrationsBefore(t, tag) })
  return database
}

/** A database without any table. */
async function emptyDatabase (t: Test): Promise<Connection & { url: string }> {
  const { url } = await testDatabase(t)
  const name = new URL(url).pathname.slice(1)
  const administration = connect(databaseUrl(url, 'postgres'), 1)
  await administration.sql.unsafe(`drop database ${name} with (force)`)
  await administration.sql.unsafe(`create database ${name}`)
  await administration.close()
  const connection = connect(url, 1)
  t.teardown(connection.close)
  return { ...connection, url }
}

/** A folder with the migrations that come before one. */
function migrationsBefore (t: Test, tag: string): string {
  const folder = temporaryFolder(t)
  cpSync(MIGRATIONS, folder, { recursive: true })
  const path = join(folder, 'meta/_journal.json')
  const journal = JSON.parse(readFileSync(path, 'utf8')) as { entries: { tag: string }[] }
  const entries = journal.entries.slice(0, journal.entries.findIndex((entry) => entry.tag === tag))
  writeFileSync(path, JSON.stringify({ ...journal, entries }))
  return folder
}
