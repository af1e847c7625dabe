import { readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'

/* The queue of a run: a folder with a file for each test file that waits, named by its place, and what it holds. */

export const isWaiting = (name: string): boolean => /^\d+$/.test(name)

/** A file that this process alone runs. What is not run to its end stays in the queue, for `all.ts` to tell. */
export interface Taken { file: string, ended: () => void }

/** The next file that nobody has taken. */
export function takeFile (queue: string): Taken | undefined {
  const mine = join(queue, `of-${process.pid}`)
  for (const place of readdirSync(queue).filter(isWaiting).sort()) {
    try {
      renameSync(join(queue, place), mine)
      return { file: readFileSync(mine, 'utf8'), ended: () => rmSync(mine) }
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== 'ENOENT') throw err
    }
  }
  return undefined
}
