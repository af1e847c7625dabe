import { readFileSync } from 'node:fs'
import { MIGRATIONS, readJournal } from './journal.ts'

/** The columns of tables, by the table's name. */
export type Schema = ReadonlyMap<string, readonly string[]>

/**
 * The program's own tables as a migration has left them (`when` of drizzle's journal), from the snapshot that was
 * written with it; undefined: the migration is a newer program's.
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
