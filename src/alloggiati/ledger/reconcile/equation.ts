import type { Counts } from './day.ts'

/* The arithmetic of receipts. */

/** 2^16 combinations are tried in milliseconds, and a person could not check more. */
const MAX_PARTS = 16

export function sum (parts: readonly Counts[]): Counts {
  const zero: Counts = { schedine: 0, notti: 0 }
  return parts.reduce(
    (total, { schedine, notti }) => ({ schedine: total.schedine + schedine, notti: total.notti + notti }),
    zero
  )
}

export function subtract (whole: Counts, part: Counts): Counts {
  return { schedine: whole.schedine - part.schedine, notti: whole.notti - part.notti }
}

export function areEqual (one: Counts, other: Counts): boolean {
  return one.schedine === other.schedine && one.notti === other.notti
}

export function isZero ({ schedine, notti }: Counts): boolean {
  return schedine === 0 && notti === 0
}

/** Schedine or nights are less than nothing: the receipt counts less than is known. */
export function isNegative ({ schedine, notti }: Counts): boolean {
  return schedine < 0 || notti < 0
}

/**
 * The combinations of `parts` that add up to `rest`, as sets of indices. At most two are returned, because the second
 * makes the day ambiguous already. Undefined: there are too many parts to try.
 */
export function findCombinations (parts: readonly Counts[], rest: Counts): ReadonlySet<number>[] | undefined {
  if (parts.length > MAX_PARTS) return undefined
  const found: ReadonlySet<number>[] = []
  const search = (at: number, left: Counts, chosen: readonly number[]): void => {
    if (isNegative(left) || found.length > 1) return
    const part = parts[at]
    if (part === undefined) {
      if (isZero(left)) found.push(new Set(chosen))
      return
    }
    search(at + 1, subtract(left, part), [...chosen, at])
    search(at + 1, left, chosen)
  }
  search(0, rest, [])
  return found
}
