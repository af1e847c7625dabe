import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const MIGRATIONS = fileURLToPath(new URL('../../drizzle/migrations', import.meta.url))

/** A migration: its number, the instant by which the database knows it, the name of its file. */
interface Entry { idx: number, when: number, tag: string }

/** The migrations of this program, the earliest first. */
export function readJournal (): Entry[] {
  return (JSON.parse(readFileSync(`${MIGRATIONS}/meta/_journal.json`, 'utf8')) as { entries: Entry[] }).entries
}
