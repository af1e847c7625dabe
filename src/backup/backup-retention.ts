import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { addDays, type Day } from '#src/lib/time.ts'

/** A last backup older than this shows that two nightly backups in a row failed. */
export const OLD_MS = 2 * 24 * 60 * 60_000
/** Numbers of backups that are kept: the last daily ones, and one for each of the last weeks. */
const DAYS = 7
const WEEKS = 4

const NAME = /^locanda-(\d{4}-\d{2}-\d{2})\.tar\.age(\.partial)?$/
const MONDAY = Date.UTC(2024, 0, 1)
const WEEK_MS = 7 * 24 * 60 * 60_000

/** The path of a day's backup. */
export function backupPath (folder: string, day: Day): string {
  return join(folder, `locanda-${day}.tar.age`)
}

/** The days whose backups are kept: the last seven, and the last day of each of the last four weeks. */
export function daysToKeep (days: readonly Day[]): Day[] {
  const weekOf = (day: Day) => Math.floor((Date.parse(day) - MONDAY) / WEEK_MS)
  const latest = days.toSorted().reverse()
  const ofWeeks = latest.filter((day, at) => at === 0 || weekOf(day) !== weekOf(latest[at - 1]!))
  return [...new Set([...latest.slice(0, DAYS), ...ofWeeks.slice(0, WEEKS)])]
}

/**
 * Removes expired backups, and partial files of killed processes. A wrong clock may have dated backups in the future.
 * These are kept until that day, and do not count among the seven.
 */
export async function rotate (folder: string, today: Day): Promise<void> {
  const files = await filesIn(folder)
  const kept = daysToKeep(files.filter(({ day, isWhole }) => isWhole && day <= today).map(({ day }) => day))
  // Yesterday's backup may still be in progress if it started before midnight.
  const yesterday = addDays(today, -1)
  const old = files.filter(({ day, isWhole }) => isWhole ? day <= today && !kept.includes(day) : day < yesterday)
  for (const { path } of old) await rm(path, { force: true })
}

/** The last backup up to now: its age in milliseconds (`Infinity` if there is none), and its size in bytes. */
export async function lastBackup (folder: string, now = Date.now()): Promise<{ age: number, size: number }> {
  let last = { age: Infinity, size: 0 }
  for (const { path, isWhole } of await filesIn(folder)) {
    const file = await stat(path).catch(() => undefined)
    const age = now - (file?.mtimeMs ?? 0)
    // Ignores folders and empty files that have the name of a backup.
    if (isWhole && file?.isFile() && file.size > 0 && age >= 0 && age < last.age) last = { age, size: file.size }
  }
  return last
}

async function filesIn (folder: string): Promise<{ path: string, day: Day, isWhole: boolean }[]> {
  return (await readdir(folder)).flatMap((name) => {
    const [, day, partial] = NAME.exec(name) ?? []
    return day === undefined ? [] : [{ path: join(folder, name), day, isWhole: partial === undefined }]
  })
}
