import { fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'

/** What the police has acquired, whatever became of its replies. */
export interface Oracle {
  /** Notes rows. They are on the disk when it returns: before any reply leaves. */
  acquire (rows: readonly string[]): void
  /** Every row, as often as it was acquired, in order. */
  acquired (): string[]
}

/** An oracle that keeps its rows in a file, which outlives whatever dies around it. */
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
