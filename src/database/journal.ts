import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type postgres from 'postgres'

/** The folder of the migrations and of Drizzle's journal. */
export const MIGRATIONS = fileURLToPath(new URL('../../drizzle/migrations', import.meta.url))

/** A migration: its number, the timestamp that identifies it in the database, and its file name. */
interface Entry { idx: number, when: number, tag: string }

/** This program's migrations, oldest first. */
export function readJournal (): Entry[] {
  return (JSON.parse(readFileSync(`${MIGRATIONS}/meta/_journal.json`, 'utf8')) as { entries: Entry[] }).entries
}

/** Timestamp of the last migration in the database. Undefined if no migration has run. */
export async function lastMigration (sql: postgres.ISql): Promise<number | undefined> {
  const [{ made }] = await sql<[{ made: boolean }]>`
    select to_regclass('drizzle.__drizzle_migrations') is not null as made`
  if (!made) return undefined
  const [{ latest }] = await sql<[{ latest: string | null }]>`
    select max(created_at) as latest from drizzle.__drizzle_migrations`
  return latest === null ? undefined : Number(latest)
}
