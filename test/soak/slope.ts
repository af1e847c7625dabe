/** A value at an instant. */
export interface Point { x: number, y: number }

/**
 * How much the values rise for each unit of `x`: the median of the slopes of all pairs of points (Theil and Sen), which
 * a few values far away do not move. Zero where there are no two instants.
 */
export function theilSen (points: readonly Point[]): number {
  const slopes = points.flatMap((a, at) =>
    points.slice(at + 1).filter((b) => b.x !== a.x).map((b) => (b.y - a.y) / (b.x - a.x)))
  return medianOf(slopes) ?? 0
}

/** The same of the half in which they rise less: one step, wherever it is, is in one of them alone. */
export function steadyRise (points: readonly Point[]): number {
  const middle = points.length >> 1
  return Math.min(theilSen(points.slice(0, middle)), theilSen(points.slice(middle)))
}

/** Undefined of no values. */
export function medianOf (values: readonly number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b)
  const upper = sorted[sorted.length >> 1]
  if (upper === undefined || sorted.length % 2 === 1) return upper
  return (upper + sorted[(sorted.length >> 1) - 1]!) / 2
}
