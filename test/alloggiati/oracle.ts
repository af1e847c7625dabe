import { fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'

/** The rows that the police service has really acquired, even if it replied otherwise. */
export interface Oracle {
  /** Records rows. They are on the disk when it returns, so before any reply. */
  acquire (rows: readonly string[]): void
  /** Every acquired row, in order. A row that was acquired twice is listed twice. */
  acquired (): string[]
}

/** An oracle that stores its rows in a file, so that they remain when a process is killed. */
export function oracle (file: string): Oracle {
  const descriptor = openSync(file, 'a')
  return {
    acquire (rows) {
      writeSync(descriptor, rows.map((row) => `${row}\n`).join(''))
      fsyncSync(descriptor)
    },
    acquired: () => readFileSync(file, 'utf8').split('\n').slice(0, -1)
  }
}

/** The rows that were acquired more than once. */
export function twice (rows: readonly string[]): string[] {
  return rows.filter((row, at) => rows.indexOf(row) !== at)
}
