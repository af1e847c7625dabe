import type { Gray } from './gray.ts'
import { withoutShade } from './shade.ts'
import { meanOfColumns, meanOfRows } from './text-lines.ts'

/** The place and the shape of a text line in an image. */
export interface Measured {
  /** The middle of the line. */
  x: number
  y: number
  angle: number
  length: number
  /** Height of a capital in the middle. */
  cap: number
  /** Pixels towards the end of the line, for each pixel down: italics have a negative slant. */
  slant: number
  /** Growth of the print from the first character to the last, as a share of `cap`. */
  taper: number
  /** Pixels that both ends lie below the straight line. */
  bend: number
}

/** A strip of the image along a line, turned to horizontal. */
export interface Strip {
  pixels: Float32Array
  width: number
  height: number
  /** Pixels of the strip per pixel of the image. */
  scale: number
}

/** A strip as network input, with the gray values that it comes from. */
export interface NetworkStrip extends Strip {
  seen: Float32Array
  /** The columns that lie inside the image: the first, and the one after the last. */
  inside: readonly [from: number, to: number]
}

/** The network was trained on strips 32 pixels high with capitals 20 high. */
export const STRIP_HEIGHT = 32
export const STRIP_CAP = 20
const STRIP_WIDTH_MAX = 1800
/** Margin before and after the line, in capital heights, because the ends of the line are estimates. */
const MARGIN = 3.2
const SHARPENING = { radius: 3, strength: 2 }

/** A strip is seen in two ways: as it is, and as if the image were sharper. */
export const VIEWS = ['plain', 'sharpened'] as const
export type View = (typeof VIEWS)[number]

/** The strip of a line as network input: without shades, contrast stretched, 0 is middle gray. */
export function stripOf (picture: Gray, line: Measured, view: View): NetworkStrip {
  const strip = sample(picture, line, line.length + 2 * MARGIN * line.cap, STRIP_HEIGHT, STRIP_CAP)
  const shadeless = withoutShade(strip, view === 'plain' ? 'tall' : 'wide')
  const pixels = view === 'plain' ? shadeless : sharpened({ ...strip, pixels: shadeless })
  const [dark, bright] = extremes(pixels)
  const stretch = 255 / Math.max(1, bright - dark)
  for (let at = 0; at < pixels.length; at++) {
    pixels[at] = (Math.max(0, Math.min(255, (pixels[at]! - dark) * stretch)) - 128) / 64
  }
  return { ...strip, pixels, seen: strip.pixels, inside: insideOf(picture, line, strip) }
}

/** Unsharp masking, which undoes a little blur. */
function sharpened ({ pixels, width, height }: Strip): Float32Array {
  const rows = meanOfRows(pixels, width, SHARPENING.radius)
  const smooth = meanOfColumns(rows, width, height, SHARPENING.radius)
  return pixels.map((value, at) => value + SHARPENING.strength * (value - smooth[at]!))
}

function insideOf ({ width, height }: Gray, line: Measured, strip: Strip): [from: number, to: number] {
  const isInside = (u: number) => {
    const { x, y } = columnOf(line, (u + 0.5 - strip.width / 2) / strip.scale)
    return x >= 0 && y >= 0 && x < width && y < height
  }
  let [from, to] = [0, strip.width]
  while (from < to && !isInside(from)) from++
  while (to > from && !isInside(to - 1)) to--
  return [from, to]
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
export function sample (picture: Gray, line: Measured, length: number, height: number, capOut: number): Strip {
  const scale = capOut / line.cap
  const width = Math.max(4, Math.min(STRIP_WIDTH_MAX, Math.round(length * scale / 4) * 4))
  const samples = scale < 0.45 ? 3 : scale < 0.8 ? 2 : 1
  const pixels = new Float32Array(width * height)
  for (let u = 0; u < width; u++) {
    for (let subU = 0; subU < samples; subU++) {
      const { x, y, downX, downY } = columnOf(line, (u + (subU + 0.5) / samples - width / 2) / scale)
      for (let v = 0; v < height; v++) {
        for (let subV = 0; subV < samples; subV++) {
          const down = (v + (subV + 0.5) / samples - height / 2) / scale
          pixels[v * width + u]! += valueAt(picture, x + down * downX, y + down * downY)
        }
      }
    }
  }
  if (samples > 1) for (let at = 0; at < pixels.length; at++) pixels[at]! /= samples * samples
  return { pixels, width, height, scale }
}

/** The middle of a column of print in the image, and the step to its next row. `along` starts at the line's middle. */
export function columnOf ({ x, y, angle, length, slant, taper, bend }: Measured, along: number) {
  const grown = taper === 0 ? along : (Math.exp(taper * along / length) - 1) / taper * length
  const size = 1 + taper * grown / length
  const below = bend * (2 * grown / length) ** 2
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)]
  return {
    x: x + grown * cos - below * sin,
    y: y + grown * sin + below * cos,
    downX: size * (slant * cos - sin),
    downY: size * (slant * sin + cos)
  }
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
