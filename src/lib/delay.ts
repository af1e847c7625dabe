export interface Delays { first: number, longest: number }

/** How long to wait after so many failures, 1 or more: twice as long after each one, in the unit of the bounds. */
export function delayAfter (failures: number, { first, longest }: Delays): number {
  return Math.min(first * 2 ** (failures - 1), longest)
}
