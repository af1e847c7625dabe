/** Pixels that hang together, as the rectangle that has their centre, direction and spread. Angles are in radians. */
export interface Blob {
  x: number
  y: number
  angle: number
  length: number
  thickness: number
  /** How much of the rectangle they fill. */
  fill: number
  pixels: number
}

interface Sums { n: number, x: number, y: number, xx: number, yy: number, xy: number }

/** The blobs of a mask, of 4-neighbours. */
export function findBlobs (mask: Uint8Array, width: number, height: number): Blob[] {
  const labels = new Int32Array(mask.length)
  const parents = [0]
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at++) {
      if (mask[at] === 0) continue
      const left = x > 0 ? labels[at - 1]! : 0
      const above = y > 0 ? labels[at - width]! : 0
      labels[at] = left || above || parents.push(parents.length) - 1
      if (left > 0 && above > 0) join(parents, left, above)
    }
  }
  return [...sumsOf(labels, parents, width).values()].map(blobOf)
}

function rootOf (parents: number[], label: number): number {
  let root = label
  while (parents[root] !== root) root = parents[root] = parents[parents[root]!]!
  return root
}

function join (parents: number[], a: number, b: number): void {
  const [x, y] = [rootOf(parents, a), rootOf(parents, b)]
  parents[Math.max(x, y)] = Math.min(x, y)
}

function sumsOf (labels: Int32Array, parents: number[], width: number): Map<number, Sums> {
  const all = new Map<number, Sums>()
  for (let at = 0; at < labels.length; at++) {
    if (labels[at] === 0) continue
    const root = rootOf(parents, labels[at]!)
    let sums = all.get(root)
    if (sums === undefined) all.set(root, sums = { n: 0, x: 0, y: 0, xx: 0, yy: 0, xy: 0 })
    const x = at % width
    const y = (at - x) / width
    sums.n++
    sums.x += x
    sums.y += y
    sums.xx += x * x
    sums.yy += y * y
    sums.xy += x * y
  }
  return all
}

/** By second moments: a filled rectangle has those of its sides squared, by 12. */
function blobOf ({ n, ...sums }: Sums): Blob {
  const [x, y] = [sums.x / n, sums.y / n]
  const [xx, yy, xy] = [sums.xx / n - x * x, sums.yy / n - y * y, sums.xy / n - x * y]
  const middle = (xx + yy) / 2
  const spread = Math.sqrt(Math.max(0, (xx - yy) ** 2 / 4 + xy * xy))
  const length = Math.sqrt(12 * (middle + spread))
  const thickness = Math.sqrt(12 * Math.max(0.08, middle - spread))
  return { x, y, angle: Math.atan2(2 * xy, xx - yy) / 2, length, thickness, fill: n / (length * thickness), pixels: n }
}
