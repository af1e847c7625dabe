/** A connected component, as a rectangle with the same centre, direction and spread. Angles are in radians. */
export interface Blob {
  x: number
  y: number
  angle: number
  length: number
  thickness: number
  /** Fraction of the rectangle that the pixels fill. */
  fill: number
  pixels: number
}

interface Sums { n: number, x: number, y: number, xx: number, yy: number, xy: number }

/** A horizontal run of pixels: `from` inclusive, `to` exclusive. */
interface Run { y: number, from: number, to: number }

/** Finds 4-connected components, ordered by first pixel. Union-find over runs is faster than over pixels. */
export function findBlobs (mask: Uint8Array, width: number, height: number): Blob[] {
  const runs: Run[] = []
  /** Union-find: the parent of each run is an earlier run of the same blob, or itself. */
  const parents: number[] = []
  for (let y = 0, above = 0; y < height; y++) {
    const own = runs.length
    for (let x = 0, row = y * width; x < width; x++) {
      if (mask[row + x] === 0) continue
      const from = x
      while (x < width && mask[row + x] !== 0) x++
      const run = parents.push(runs.length) - 1
      runs.push({ y, from, to: x })
      while (above < own && runs[above]!.to <= from) above++
      for (let other = above; other < own && runs[other]!.from < x; other++) join(parents, other, run)
    }
    above = own
  }
  return sumsOf(runs, parents).map(blobOf)
}

function rootOf (parents: number[], run: number): number {
  let root = run
  while (parents[root] !== root) root = parents[root] = parents[parents[root]!]!
  return root
}

function join (parents: number[], a: number, b: number): void {
  const [x, y] = [rootOf(parents, a), rootOf(parents, b)]
  parents[Math.max(x, y)] = Math.min(x, y)
}

function sumsOf (runs: readonly Run[], parents: number[]): Sums[] {
  const all = new Map<number, Sums>()
  for (const [at, { y, from, to }] of runs.entries()) {
    const root = rootOf(parents, at)
    let sums = all.get(root)
    if (sums === undefined) all.set(root, sums = { n: 0, x: 0, y: 0, xx: 0, yy: 0, xy: 0 })
    const n = to - from
    const x = n * (from + to - 1) / 2
    sums.n += n
    sums.x += x
    sums.y += n * y
    sums.xx += squaresBelow(to) - squaresBelow(from)
    sums.yy += n * y * y
    sums.xy += x * y
  }
  return [...all.values()]
}

/** The sum of the squares of all integers below `end`. */
function squaresBelow (end: number): number {
  return (end - 1) * end * (2 * end - 1) / 6
}

/** Computes the blob's rectangle from second moments: along a side, a filled rectangle has variance length² / 12. */
function blobOf ({ n, ...sums }: Sums): Blob {
  const [x, y] = [sums.x / n, sums.y / n]
  const [xx, yy, xy] = [sums.xx / n - x * x, sums.yy / n - y * y, sums.xy / n - x * y]
  const middle = (xx + yy) / 2
  const spread = Math.sqrt(Math.max(0, (xx - yy) ** 2 / 4 + xy * xy))
  const length = Math.sqrt(12 * (middle + spread))
  const thickness = Math.sqrt(12 * Math.max(0.08, middle - spread))
  return { x, y, angle: Math.atan2(2 * xy, xx - yy) / 2, length, thickness, fill: n / (length * thickness), pixels: n }
}
