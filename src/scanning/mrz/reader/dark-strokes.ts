import type { Gray } from './gray.ts'

/** Morphological closing: the image without dark strokes thinner than the given size (odd). */
export function closed (picture: Gray, strokeWidth: number, strokeHeight: number): Uint8Array {
  const [rx, ry] = [strokeWidth >> 1, strokeHeight >> 1]
  // Erosion is dilation of the negative.
  return negative(spread(negative(spread(picture.data, picture, rx, ry)), picture, rx, ry))
}

function negative (data: Uint8Array): Uint8Array {
  for (let at = 0; at < data.length; at++) data[at] = 255 - data[at]!
  return data
}

/** Dilation: the largest value within `rx` columns and `ry` rows. Plain loops, because they are faster. */
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

/** Buffers that all rows of an image share. */
interface Runs { forwards: Uint8Array, backwards: Uint8Array }

/**
 * Van Herk's algorithm: in blocks of the window's length it computes running maxima from both ends. The maximum of a
 * window combines two of these, so the cost does not depend on the window's size.
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
