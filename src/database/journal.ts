import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type postgres from 'postgres'

export const MIGRATIONS = fileURLToPath(new URL('../../drizzle/migrations', import.meta.url))

/** A migration: its number, the timestamp that identifies it in the database, and its file name. */
interface Entry { idx: number, when: number, tag: string }

/** This program's migrations, oldest first. */
export function readJournal (): Entry[] {
  return (JSON.parse(readFileSync(`${MIGRATIONS}/meta/_journal.json`, 'utf8')) as { entries: Entry[] }).entries
}

/** Timestamp of the database's last migration. Undefined if it has none. */
export async function lastMigration (sql: postgres.ISql): Promise<number | undefined> {
  const [{ made }] = await sql<[{ made: boolean }]>`
    select to_regclass('drizzle.__drizzle_migrations') is not null as made`
  if (!made) return undefined
  const [{ latest }] = await sql<[{ latest: string | null }]>`
    select max(created_at) as latest from drizzle.__drizzle_migrations`
  return latest === null ? undefined : Number(latest)
}

/** Column names by table name. */
export type Schema = ReadonlyMap<string, readonly string[]>

/**
 * The schema after a migration (`when` of drizzle's journal), from the migration's snapshot. Undefined if the migration
 * belongs to a newer program.
 */
export function schemaAfter (migration: number): Schema | undefined {
  const entry = readJournal().find(({ when }) => when === migration)
  if (!entry) return undefined
  const file = `${MIGRATIONS}/meta/${String(entry.idx).padStart(4, '0')}_snapshot.json`
  const { tables } = JSON.parse(readFileSync(file, 'utf8')) as {
    tables: Record<string, { name: string, columns: Record<string, unknown> }>
  }
  return new Map(Object.values(tables).map(({ name, columns }) => [name, Object.keys(columns)]))
}
