import type { Gray } from './gray.ts'

/**
 * How much darker each pixel is than what surrounds it, for strokes thinner than the given width and height (odd): the
 * closing of the picture less the picture ("black hat").
 */
export function darkStrokes (picture: Gray, strokeWidth: number, strokeHeight: number): Uint8Array {
  const [rx, ry] = [strokeWidth >> 1, strokeHeight >> 1]
  // The smallest value around a pixel is the largest one of the negative.
  const closed = spread(negative(spread(picture.data, picture, rx, ry)), picture, rx, ry)
  for (let at = 0; at < closed.length; at++) closed[at] = 255 - closed[at]! - picture.data[at]!
  return closed
}

function negative (data: Uint8Array): Uint8Array {
  for (let at = 0; at < data.length; at++) data[at] = 255 - data[at]!
  return data
}

/** The largest value around each pixel, `rx` to the sides and `ry` up and down. Plain loops: this takes time. */
function spread (data: Uint8Array, { width, height }: Gray, rx: number, ry: number): Uint8Array {
  const sideways = new Uint8Array(data.length)
  const runs = { forwards: new Uint8Array(width + 2 * rx), backwards: new Uint8Array(width + 2 * rx) }
  for (let row = 0; row < data.length; row += width) {
    spreadRow(data.subarray(row, row + width), sideways, row, rx, runs)
  }
  const out = new Uint8Array(data.length)
  for (let y = 0; y < height; y++) {
    const own = out.subarray(y * width, (y + 1) * width)
    for (let from = Math.max(0, y - ry); from <= Math.min(height - 1, y + ry); from++) {
      const other = sideways.subarray(from * width, (from + 1) * width)
      for (let x = 0; x < own.length; x++) own[x] = Math.max(own[x]!, other[x]!)
    }
  }
  return out
}

/** Made once for all rows of a picture. */
interface Runs { forwards: Uint8Array, backwards: Uint8Array }

/**
 * In blocks of the window's length, runs from both ends of a block; a window is the end of one run and the beginning of
 * another (van Herk). The cost does not grow with the window.
 */
function spreadRow (
  row: Uint8Array, out: Uint8Array, at: number, radius: number, { forwards, backwards }: Runs
): void {
  const block = 2 * radius + 1
  forwards.fill(0)
  forwards.set(row, radius)
  backwards.set(forwards)
  for (let first = 0; first < forwards.length; first += block) {
    const last = Math.min(first + block, forwards.length) - 1
    for (let i = first + 1; i <= last; i++) forwards[i] = Math.max(forwards[i - 1]!, forwards[i]!)
    for (let i = last - 1; i >= first; i--) backwards[i] = Math.max(backwards[i + 1]!, backwards[i]!)
  }
  for (let x = 0; x < row.length; x++) out[at + x] = Math.max(backwards[x]!, forwards[x + block - 1]!)
}
