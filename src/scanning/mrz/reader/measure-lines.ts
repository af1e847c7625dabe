import type { Gray } from './gray.ts'
import type { Line } from './locate.ts'
import { sample, STRIP_CAP, STRIP_HEIGHT, type Measured, type Strip } from './strip.ts'

const SEARCH_HEIGHT = 56
const SEARCH_CAP = 18
const PARTS = 7
/** A part further from the line than this, in pixels of the search strip, is an outlier. */
const OUTLIER = 2.5
/** Smaller values may be noise of the measurement. */
const MIN = { bend: 1.2, taper: 0.07, slant: 0.06 }
const SLANTS = Array.from({ length: 17 }, (_, n) => (n - 8) * 0.045)

interface Band { at: number, y: number, height: number }

/**
 * Measures the lines of one zone, which all have the same print. A line with an outlying height gets the median height.
 * All lines get the same taper and the median slant.
 */
export function measureLines (picture: Gray, lines: readonly Line[]): Measured[] {
  const measured = lines.map((line) => measure(picture, line))
  const cap = median(measured.map((line) => line.cap))
  const taper = taperOf(measured)
  const alike = measured.map((line) => (
    { ...line, taper, cap: line.cap > cap * 1.25 || line.cap < cap * 0.8 ? cap : line.cap }))
  const slant = median(alike.map((line) => slantOf(picture, line)))
  return Math.abs(slant) < MIN.slant ? alike : alike.map((line) => ({ ...line, slant }))
}

/** Measures a text line. It splits the line into parts, and finds the rows with text in each part. */
function measure (picture: Gray, line: Line): Measured {
  const guess = { ...line, cap: line.thickness * 0.95, slant: 0, taper: 0, bend: 0 }
  const strip = sample(picture, guess, line.length * 1.02, SEARCH_HEIGHT, SEARCH_CAP)
  const bands = Array.from({ length: PARTS }, (_, part) => bandOf(strip, part))
  const middle = median(bands.map(({ y }) => y))
  const near = bands.filter(({ y }) => Math.abs(y - middle) < 9)
  const { offset, slope, bend } = curve(near)
  const off = (offset - SEARCH_HEIGHT / 2) / strip.scale
  return {
    x: line.x - off * Math.sin(line.angle),
    y: line.y + off * Math.cos(line.angle),
    angle: line.angle + Math.atan(slope / (strip.width / 2)),
    length: line.length,
    cap: median(bands.map(({ height }) => height)) / strip.scale,
    slant: 0,
    taper: 0,
    bend: bend / strip.scale
  }
}

/** The rows with text in one part of a strip. They surround the row with the most changes in the middle half. */
function bandOf ({ pixels, width, height }: Strip, part: number): Band {
  const [left, right] = [part, part + 1].map((each) => Math.floor(width * each / PARTS)) as [number, number]
  const changes = Array.from({ length: height }, (_, y) => {
    let sum = 0
    for (let x = left + 1; x < right - 1; x++) sum += Math.abs(pixels[y * width + x + 1]! - pixels[y * width + x - 1]!)
    return sum
  })
  const smooth = changes.map((each, y) => each + (changes[y - 1] ?? each) + (changes[y + 1] ?? each))
  let peak = height >> 2
  for (let y = peak; y < height * 0.75; y++) if (smooth[y]! > smooth[peak]!) peak = y
  const least = Math.min(...smooth)
  const bound = least + (smooth[peak]! - least) * 0.4
  let [top, bottom] = [peak, peak]
  while (top > 0 && smooth[top - 1]! > bound) top--
  while (bottom < height - 1 && smooth[bottom + 1]! > bound) bottom++
  return { at: (2 * part + 1) / PARTS - 1, y: (top + bottom + 1) / 2, height: bottom + 1 - top }
}

/** A parabola through the middles of the bands, or a straight line when the bands are few or do not clearly bend. */
function curve (bands: readonly Band[]): { offset: number, slope: number, bend: number } {
  const straight = fitted(bands, false)
  const bent = bands.length > 4 ? fitted(bands, true) : straight
  return Math.abs(bent.bend) < MIN.bend ? straight : bent
}

/** Least squares, without the bands that lie far from the rest. */
function fitted (bands: readonly Band[], isBent: boolean): { offset: number, slope: number, bend: number } {
  const n = bands.length
  const sum = (of: (band: Band) => number) => bands.reduce((total, band) => total + of(band), 0)
  const [x, y, xx, xy] = [sum((b) => b.at), sum((b) => b.y), sum((b) => b.at ** 2), sum((b) => b.at * b.y)]
  const curvature = isBent ? curvatureOf(bands) : 0
  const [ys, xys] = [y - curvature * xx, xy - curvature * sum((b) => b.at ** 3)]
  const slope = n > 1 ? (n * xys - x * ys) / (n * xx - x * x) : 0
  const found = { offset: (ys - slope * x) / n, slope, bend: curvature }
  const distance = (b: Band) => Math.abs(b.y - found.offset - slope * b.at - curvature * b.at ** 2)
  const worst = bands.reduce((a, b) => distance(a) >= distance(b) ? a : b)
  return n < 4 || distance(worst) <= OUTLIER ? found : fitted(bands.filter((band) => band !== worst), isBent)
}

/** The curvature of the least-squares parabola, from the residuals of `y` and `at ** 2` after linear regression. */
function curvatureOf (bands: readonly Band[]): number {
  const beside = (of: (band: Band) => number) => {
    const { offset, slope } = fittedLine(bands.map((band) => ({ at: band.at, y: of(band) })))
    return bands.map((band) => of(band) - offset - slope * band.at)
  }
  const [y, squares] = [beside((band) => band.y), beside((band) => band.at ** 2)]
  const spread = squares.reduce((total, each) => total + each * each, 0)
  return spread === 0 ? 0 : y.reduce((total, each, n) => total + each * squares[n]!, 0) / spread
}

function fittedLine (points: readonly { at: number, y: number }[]): { offset: number, slope: number } {
  const n = points.length
  const sum = (of: (point: { at: number, y: number }) => number) => points.reduce((total, each) => total + of(each), 0)
  const [x, y, xx, xy] = [sum((p) => p.at), sum((p) => p.y), sum((p) => p.at ** 2), sum((p) => p.at * p.y)]
  const slope = n > 1 ? (n * xy - x * y) / (n * xx - x * x) : 0
  return { offset: (y - slope * x) / n, slope }
}

/**
 * Growth of the print from the beginning of the lines to their end, as the distance of the lines grows. Heights of
 * print do not show it, because fillers at the end are lower. 0 when it may be noise.
 */
function taperOf (lines: readonly Measured[]): number {
  const [first, last] = [lines[0]!, lines.at(-1)!]
  const distance = (last.y - first.y) * Math.cos(first.angle) - (last.x - first.x) * Math.sin(first.angle)
  const taper = first.length * (last.angle - first.angle) / distance
  return Math.abs(taper) < MIN.taper ? 0 : Math.max(-0.35, Math.min(0.35, taper))
}

/**
 * The slant at which the columns of the strip differ most, because strokes are then upright. It compares pairs of
 * columns three pixels apart, so that stripes thinner than a stroke do not count.
 */
function slantOf (picture: Gray, line: Measured): number {
  const { pixels, width } = sample(picture, line, line.length, STRIP_HEIGHT, STRIP_CAP)
  const scores = SLANTS.map((slant) => {
    const columns = new Float32Array(width)
    for (let y = 6; y < STRIP_HEIGHT - 6; y++) {
      const shift = Math.round(slant * (y - STRIP_HEIGHT / 2 + 0.5))
      for (let x = 8; x < width - 8; x++) columns[x]! += pixels[y * width + x + shift]!
    }
    const pair = (x: number) => columns[x]! + columns[x - 1]!
    return columns.reduce((sum, _, x) => x < 12 || x > width - 9 ? sum : sum + (pair(x) - pair(x - 3)) ** 2, 0)
  })
  const best = scores.indexOf(Math.max(...scores))
  const [before, at, after] = [scores[best - 1], scores[best]!, scores[best + 1]]
  if (before === undefined || after === undefined) return SLANTS[best]!
  const peak = (before - after) / (2 * (before - 2 * at + after))
  return SLANTS[best]! + peak * 0.045
}

function median (values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!
}
