import type { Attempt, Day } from './world.ts'

/** Whether an attempt may belong to either of two days, because its bytes may be processed after midnight. */
export function straddles ({ at }: Attempt): boolean {
  return at === 1 || at === 2
}

/** The rows of a known attempt on its receipt. */
export function rowsOf ({ outcome }: Attempt): number {
  return outcome === 'K' ? 2 : 1
}

/** Whether the known attempts can be assigned to days so that the remainder of each receipt fits. */
export function balance (
  [first, second]: readonly [number, number],
  [a, ...others]: readonly Attempt[],
  fits: (day: Day, rest: number) => boolean
): boolean {
  if (a === undefined) return fits(0, first) && fits(1, second)
  return (a.at <= 2 && balance([first - rowsOf(a), second], others, fits)) ||
    (a.at >= 1 && balance([first, second - rowsOf(a)], others, fits))
}
