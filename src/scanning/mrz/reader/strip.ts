import type { Gray } from './gray.ts'
import type { Line } from './locate.ts'

/** A line with measured capital height. */
export interface Measured { x: number, y: number, angle: number, length: number, cap: number }

/** An image strip along a line, made horizontal. */
export interface Strip {
  pixels: Float32Array
  width: number
  height: number
  /** Strip pixels per image pixel. */
  scale: number
}

/** The network was trained on strips 32 pixels high with capitals 20 high. */
const STRIP_HEIGHT = 32
const STRIP_CAP = 20
const STRIP_WIDTH_MAX = 1800
/** Margin before and after the line, in capital heights, because its ends are estimates. */
const MARGIN = 3.2

const SEARCH_HEIGHT = 56
const SEARCH_CAP = 18
const PARTS = 5

/**
 * Measures centre, angle and capital height of a text line. It splits the line into five parts, and finds the rows
 * with text in each part.
 */
export function measure (picture: Gray, line: Line): Measured {
  const guess = { ...line, cap: line.thickness * 0.95 }
  const strip = sample(picture, guess, line.length * 1.02, SEARCH_HEIGHT, SEARCH_CAP)
  const bands = Array.from({ length: PARTS }, (_, part) => bandOf(strip, part))
  const centres = bands.map(([top, bottom]) => (top + bottom) / 2)
  const heights = bands.map(([top, bottom]) => bottom - top).sort((a, b) => a - b)
  const middle = centres.toSorted((a, b) => a - b)[PARTS >> 1]!
  const points = centres
    .map((y, part) => ({ x: (part + 0.5) * strip.width / PARTS - strip.width / 2, y }))
    .filter(({ y }) => Math.abs(y - middle) < 8)
  const { slope, offset } = straightLine(points)
  const off = (offset - SEARCH_HEIGHT / 2) / strip.scale
  return {
    x: line.x - off * Math.sin(line.angle),
    y: line.y + off * Math.cos(line.angle),
    angle: line.angle + Math.atan(slope),
    length: line.length,
    cap: heights[PARTS >> 1]! / strip.scale
  }
}

/** The strip of a line as network input: contrast stretched, 0 is middle gray. */
export function stripOf (picture: Gray, line: Measured): Strip {
  const strip = sample(picture, line, line.length + 2 * MARGIN * line.cap, STRIP_HEIGHT, STRIP_CAP)
  const { pixels } = strip
  const [dark, bright] = extremes(pixels)
  const stretch = 255 / Math.max(1, bright - dark)
  for (let at = 0; at < pixels.length; at++) {
    pixels[at] = (Math.max(0, Math.min(255, (pixels[at]! - dark) * stretch)) - 128) / 64
  }
  return strip
}

/** The rows with text in one part of a strip. They surround the row of the middle half that changes most. */
function bandOf ({ pixels, width, height }: Strip, part: number): [top: number, bottom: number] {
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
  return [top, bottom + 1]
}

/** Least squares; horizontal when there is only one point. */
function straightLine (points: readonly { x: number, y: number }[]): { slope: number, offset: number } {
  const n = points.length
  const sum = (of: (point: { x: number, y: number }) => number) => points.reduce((total, point) => total + of(point), 0)
  const [x, y, xx, xy] = [sum((p) => p.x), sum((p) => p.y), sum((p) => p.x * p.x), sum((p) => p.x * p.y)]
  const slope = n > 1 ? (n * xy - x * y) / (n * xx - x * x) : 0
  return { slope, offset: (y - slope * x) / n }
}

/** The first and the last percentile of the pixel values. */
function extremes (pixels: Float32Array): [dark: number, bright: number] {
  const counts = new Uint32Array(256)
  for (const value of pixels) counts[Math.max(0, Math.min(255, Math.floor(value)))]!++
  const few = pixels.length / 100
  const reach = (from: number, step: 1 | -1) => {
    let [at, seen] = [from, counts[from]!]
    while (seen < few) seen += counts[at += step]!
    return at
  }
  return [reach(0, 1), reach(255, -1)]
}

/** Samples a strip along a line, with capitals `capOut` high. Supersamples when shrinking. */
function sample (picture: Gray, line: Measured, length: number, height: number, capOut: number): Strip {
  const scale = capOut / line.cap
  const width = Math.max(4, Math.min(STRIP_WIDTH_MAX, Math.round(length * scale / 4) * 4))
  const samples = scale < 0.45 ? 3 : scale < 0.8 ? 2 : 1
  const [cos, sin] = [Math.cos(line.angle), Math.sin(line.angle)]
  const pixels = new Float32Array(width * height)
  for (let v = 0; v < height; v++) {
    for (let u = 0; u < width; u++) {
      let sum = 0
      for (let sub = 0; sub < samples * samples; sub++) {
        const along = (u + (sub % samples + 0.5) / samples - width / 2) / scale
        const across = (v + (Math.floor(sub / samples) + 0.5) / samples - height / 2) / scale
        sum += valueAt(picture, line.x + along * cos - across * sin, line.y + along * sin + across * cos)
      }
      pixels[v * width + u] = sum / (samples * samples)
    }
  }
  return { pixels, width, height, scale }
}

/** Interpolates bilinearly. Outside the picture it uses the nearest edge pixel. */
function valueAt ({ data, width, height }: Gray, x: number, y: number): number {
  const [left, top] = [Math.floor(x - 0.5), Math.floor(y - 0.5)]
  const [fx, fy] = [x - 0.5 - left, y - 0.5 - top]
  const x0 = Math.min(width - 1, Math.max(0, left))
  const x1 = Math.min(width - 1, Math.max(0, left + 1))
  const y0 = Math.min(height - 1, Math.max(0, top)) * width
  const y1 = Math.min(height - 1, Math.max(0, top + 1)) * width
  return (data[y0 + x0]! * (1 - fx) + data[y0 + x1]! * fx) * (1 - fy) +
    (data[y1 + x0]! * (1 - fx) + data[y1 + x1]! * fx) * fy
}
