/** A value at a time. */
export interface Point { x: number, y: number }

/**
 * The Theil-Sen slope: the median slope of all pairs of points, robust against outliers. Zero without two distinct
 * times.
 */
export function theilSen (points: readonly Point[]): number {
  const slopes = points.flatMap((a, at) =>
    points.slice(at + 1).filter((b) => b.x !== a.x).map((b) => (b.y - a.y) / (b.x - a.x)))
  return medianOf(slopes) ?? 0
}

/** The lower slope of the two halves. A single step affects only one half. */
export function steadyRise (points: readonly Point[]): number {
  const middle = points.length >> 1
  return Math.min(theilSen(points.slice(0, middle)), theilSen(points.slice(middle)))
}

/** The median. Undefined for an empty list. */
export function medianOf (values: readonly number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b)
  const upper = sorted[sorted.length >> 1]
  if (upper === undefined || sorted.length % 2 === 1) return upper
  return (upper + sorted[(sorted.length >> 1) - 1]!) / 2
}
