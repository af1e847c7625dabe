import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { addDays, type Day } from '#src/lib/time.ts'
import { HEADER_BYTES } from './container.ts'
import { PARTIAL } from './whole-file.ts'

/** Of so many days the backup stays, and of so many weeks the last one. */
const DAYS = 7
const WEEKS = 4

const NAME = /^locanda-(\d{4}-\d{2}-\d{2})\.bak$/
const PARTIAL_NAME = /^locanda-(\d{4}-\d{2}-\d{2})\.bak\.partial$/
const MONDAY = Date.UTC(2024, 0, 1)
const WEEK_MS = 7 * 24 * 60 * 60_000

/** Where the backup of a day is. */
export function backupFile (folder: string, day: Day): string {
  return join(folder, `locanda-${day}.bak`)
}

/** The days whose backups stay: the last seven that there are, and the last one of each of the last four weeks. */
export function daysToKeep (days: readonly Day[]): Day[] {
  const latest = days.toSorted().reverse()
  const ofWeek = new Map<number, Day>()
  for (const day of latest) {
    const week = Math.floor((Date.parse(day) - MONDAY) / WEEK_MS)
    if (!ofWeek.has(week)) ofWeek.set(week, day)
  }
  return [...new Set([...latest.slice(0, DAYS), ...[...ofWeek.values()].slice(0, WEEKS)])]
}

/**
 * Removes the backups that are not to be kept, and what processes that were killed have left of others. Days to come,
 * which a clock that was wrong has written, take no place of those before them, and stay until they have come. Files
 * with other names are nobody's business.
 * @returns those that cannot be removed
 */
export async function rotate (folder: string, today: Day): Promise<string[]> {
  const days = (await daysIn(folder, NAME)).filter((day) => day <= today)
  const kept = new Set(daysToKeep(days))
  const old = days.filter((day) => !kept.has(day)).map((day) => backupFile(folder, day))
  // That of yesterday may be under way: it was begun before midnight.
  const left = (await daysIn(folder, PARTIAL_NAME)).filter((day) => day < addDays(today, -1))
    .map((day) => backupFile(folder, day) + PARTIAL)
  const stuck: string[] = []
  for (const file of [...old, ...left]) await rm(file, { force: true }).catch(() => { stuck.push(file) })
  return stuck
}

/** What the clock of a file may be ahead of this one. */
const AHEAD_MS = 60_000

/**
 * The last backup of a folder: milliseconds since it was whole (`Infinity`: there is none), and its bytes.
 * One that is still to come says nothing of those that were made.
 *
 * @throws what the system says of a folder that cannot be read
 */
export async function lastBackup (folder: string, now = Date.now()): Promise<{ age: number, size: number }> {
  const found = await Promise.all((await daysIn(folder, NAME)).map(async (day) =>
    await stat(backupFile(folder, day)).then((file) =>
      // A folder, or a file that was cut, has the name alone.
      file.isFile() && file.size >= HEADER_BYTES ? { age: now - file.mtimeMs, size: file.size } : undefined,
    () => undefined)))
  const { age, size } = found.filter((each) => each !== undefined).filter((each) => each.age >= -AHEAD_MS)
    .reduce((one, other) => other.age < one.age ? other : one, { age: Infinity, size: 0 })
  return { age: Math.max(age, 0), size }
}

async function daysIn (folder: string, pattern: RegExp): Promise<Day[]> {
  return (await readdir(folder)).flatMap((name) => pattern.exec(name)?.[1] ?? [])
}
