import type { Attempt, Day } from './world.ts'

/** Whether the ledger cannot tell on which of the two days an attempt counts: bytes may be acted on after midnight. */
export function straddles ({ at }: Attempt): boolean {
  return at === 1 || at === 2
}

/** What a known attempt has on its receipt. */
export function rowsOf ({ outcome }: Attempt): number {
  return outcome === 'K' ? 2 : 1
}

/** Whether the known attempts can be given to their days so that what is left of each receipt fits. */
export function balance (
  [first, second]: readonly [number, number],
  [a, ...others]: readonly Attempt[],
  fits: (day: Day, rest: number) => boolean
): boolean {
  if (a === undefined) return fits(0, first) && fits(1, second)
  return (a.at <= 2 && balance([first - rowsOf(a), second], others, fits)) ||
    (a.at >= 1 && balance([first, second - rowsOf(a)], others, fits))
}
