import type { Day } from '#src/lib/time.ts'
import { completeFrom, LOOKS_APART_MS, type Counts, type Look } from './day.ts'

/** 2^16 combinations take milliseconds, and no person could follow more. */
const MAX_PARTS = 16

/** What the looks at a receipt say together. */
export interface Reading {
  /** The last one. */
  counts: Counts
  /** Two that are hours apart agree. */
  stable: boolean
  /** Some disagree. */
  changed: boolean
}

/** The reading of a day's receipt; undefined while no look that counts could be read: unavailable is not zero. */
export function reading (giorno: Day, looks: readonly Look[]): Reading | undefined {
  const from = completeFrom(giorno)
  const read = looks
    .filter(({ letta_il }) => letta_il >= from)
    .flatMap(({ letta_il, schedine, notti }) =>
      schedine === null || notti === null ? [] : [{ letta_il, schedine, notti }]
    )
  const last = read.at(-1)
  if (!last) return undefined
  return {
    counts: { schedine: last.schedine, notti: last.notti },
    stable: last.letta_il.getTime() - read[0]!.letta_il.getTime() >= LOOKS_APART_MS,
    changed: read.some((look) => !equal(look, last))
  }
}

export function sum (parts: readonly Counts[]): Counts {
  const zero: Counts = { schedine: 0, notti: 0 }
  return parts.reduce(
    (total, { schedine, notti }) => ({ schedine: total.schedine + schedine, notti: total.notti + notti }),
    zero
  )
}

export function minus (whole: Counts, part: Counts): Counts {
  return { schedine: whole.schedine - part.schedine, notti: whole.notti - part.notti }
}

export function equal (one: Counts, other: Counts): boolean {
  return one.schedine === other.schedine && one.notti === other.notti
}

export function isZero ({ schedine, notti }: Counts): boolean {
  return schedine === 0 && notti === 0
}

/** Less than is known to be acquired. */
export function isNegative ({ schedine, notti }: Counts): boolean {
  return schedine < 0 || notti < 0
}

/**
 * The combinations of `parts` that add up to `rest`, as sets of indices: at most two, for the second makes it
 * ambiguous already. Undefined for more parts than are tried.
 */
export function combinations (parts: readonly Counts[], rest: Counts): ReadonlySet<number>[] | undefined {
  if (parts.length > MAX_PARTS) return undefined
  const found: ReadonlySet<number>[] = []
  const search = (at: number, left: Counts, chosen: readonly number[]): void => {
    if (isNegative(left) || found.length > 1) return
    const part = parts[at]
    if (part === undefined) {
      if (isZero(left)) found.push(new Set(chosen))
      return
    }
    search(at + 1, minus(left, part), [...chosen, at])
    search(at + 1, left, chosen)
  }
  search(0, rest, [])
  return found
}
