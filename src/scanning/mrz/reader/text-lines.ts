import { findBlobs, type Blob } from './blobs.ts'
import { closed } from './dark-strokes.ts'
import type { Gray } from './gray.ts'

/** The sizes below are for images of this width. */
const USUAL_WIDTH = 700
/** Factors of Otsu's threshold for stroke density. */
const THRESHOLD_FACTORS = [1, 0.7, 1.35]
/** Minimum length of a piece of a line, as a share of the document's width. */
const PIECE = 0.07
/** Paper is never darker than this. Limits the noise in dark areas. */
const DARKEST_PAPER = 40

/**
 * Finds lines of print: long, flat areas dense with thin dark strokes. One list per threshold.
 * @param part the width of the document, as a share of the image
 */
export function textLines (picture: Gray, part = 1): Blob[][] {
  const { width, height } = picture
  const scale = width * part / USUAL_WIDTH
  const odd = (size: number, min: number) => Math.max(min, Math.round(size * scale) | 1)
  const strokes = relativeStrokes(picture, odd(13, 7), odd(5, 3))
  const sideways = meanOfRows(edges(strokes, width), width, Math.max(5, Math.round(11 * scale)))
  const density = asBytes(meanOfColumns(sideways, width, height, Math.max(1, Math.round(1.5 * scale))))
  const threshold = bestBound(density)
  return THRESHOLD_FACTORS.map((factor) => {
    const pieces = findBlobs(above(density, threshold * factor), width, height).filter((blob) =>
      blob.pixels >= 40 * scale * scale &&
      blob.length > PIECE * width * part &&
      blob.length / blob.thickness > 2 &&
      Math.abs(blob.angle) < 0.45)
    return [...pieces, ...joined(pieces, 0.2 * width * part)].filter((blob) =>
      blob.length > 0.22 * width * part &&
      blob.length / blob.thickness > 7 &&
      blob.fill > 0.6)
  })
}

/** Joins two pieces of a line that a reflection or a finger has split. `gap` is their maximum distance in pixels. */
function joined (pieces: readonly Blob[], gap: number): Blob[] {
  const fromLeft = pieces.toSorted((a, b) => a.x - b.x)
  return fromLeft.flatMap((left, at) => fromLeft.slice(at + 1).flatMap((right) => {
    const long = left.length > right.length ? left : right
    const [cos, sin] = [Math.cos(long.angle), Math.sin(long.angle)]
    const [dx, dy] = [right.x - left.x, right.y - left.y]
    const [along, across] = [dx * cos + dy * sin, dy * cos - dx * sin]
    const between = along - (left.length + right.length) / 2
    const ratio = left.thickness / right.thickness
    if (between < 0 || between > gap || ratio < 0.6 || ratio > 1.65) return []
    return Math.abs(across) > 0.6 * long.thickness ? [] : [join(left, right)]
  }))
}

function join (left: Blob, right: Blob): Blob {
  const angle = Math.atan2(right.y - left.y, right.x - left.x)
  const distance = Math.hypot(right.x - left.x, right.y - left.y)
  const length = distance + (left.length + right.length) / 2
  const off = (right.length - left.length) / 4 + distance / 2
  const thickness = Math.max(left.thickness, right.thickness)
  const pixels = left.pixels + right.pixels
  const [x, y] = [left.x + off * Math.cos(angle), left.y + off * Math.sin(angle)]
  return { x, y, angle, length, thickness, pixels, fill: pixels / (length * thickness) }
}

/** The darkness of each pixel relative to the paper around it, so that light and shadow do not matter. */
function relativeStrokes (picture: Gray, strokeWidth: number, strokeHeight: number): Uint8Array {
  const paper = closed(picture, strokeWidth, strokeHeight)
  return paper.map((value, at) => 255 * (value - picture.data[at]!) / Math.max(DARKEST_PAPER, value))
}

function above (data: Uint8Array, bound: number): Uint8Array {
  const mask = new Uint8Array(data.length)
  for (let at = 0; at < data.length; at++) mask[at] = data[at]! > bound ? 1 : 0
  return mask
}

/** The absolute difference between each pixel's left and right neighbours. */
function edges (data: Uint8Array, width: number): Uint8Array {
  const out = new Uint8Array(data.length)
  for (let row = 0; row < data.length; row += width) {
    for (let at = row + 1; at < row + width - 1; at++) out[at] = Math.abs(data[at + 1]! - data[at - 1]!)
  }
  return out
}

export function meanOfRows (data: Uint8Array | Float32Array, width: number, radius: number): Float32Array {
  const out = new Float32Array(data.length)
  for (let row = 0; row < data.length; row += width) {
    let sum = 0
    for (let x = -radius; x < width; x++) {
      if (x + radius < width) sum += data[row + x + radius]!
      if (x - radius - 1 >= 0) sum -= data[row + x - radius - 1]!
      if (x >= 0) out[row + x] = sum / (2 * radius + 1)
    }
  }
  return out
}

export function meanOfColumns (data: Float32Array, width: number, height: number, radius: number): Float32Array {
  const out = new Float32Array(data.length)
  const sums = new Float32Array(width)
  for (let y = -radius; y < height; y++) {
    const [enters, leaves] = [y + radius, y - radius - 1]
    for (let x = 0; x < width; x++) {
      if (enters < height) sums[x]! += data[enters * width + x]!
      if (leaves >= 0) sums[x]! -= data[leaves * width + x]!
      if (y >= 0) out[y * width + x] = sums[x]! / (2 * radius + 1)
    }
  }
  return out
}

function asBytes (data: Float32Array): Uint8Array {
  let most = 1e-6
  for (const value of data) if (value > most) most = value
  const out = new Uint8ClampedArray(data.length)
  for (let at = 0; at < data.length; at++) out[at] = data[at]! / most * 255
  return new Uint8Array(out.buffer)
}

/** Otsu's threshold. */
function bestBound (data: Uint8Array): number {
  const counts = new Uint32Array(256)
  let sum = 0
  for (const value of data) {
    counts[value]!++
    sum += value
  }
  let [below, sumBelow, best, bound] = [0, 0, -1, 127]
  for (let value = 0; value < 256; value++) {
    below += counts[value]!
    sumBelow += value * counts[value]!
    const above = data.length - below
    if (below === 0) continue
    if (above === 0) break
    const difference = sumBelow / below - (sum - sumBelow) / above
    const spread = below * above * difference * difference
    if (spread > best) [best, bound] = [spread, value]
  }
  return bound
}
