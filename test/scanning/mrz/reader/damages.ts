import sharp from 'sharp'
import type { Gray } from '#src/scanning/mrz/reader/gray.ts'
import { cases, type Case } from './cases.ts'
import { generator, photograph } from './render.ts'

/*
 * Simulates typical damage of photos of documents: shadows, fingers, shaken hands, lenses. The results are the same in
 * every run.
 */

type Random = () => number
type Damage = (picture: Gray, random: Random) => Gray

/** A kind of damage. */
export interface Row { name: string, damage: Damage, count?: number }

export interface Damaged extends Pick<Case, 'lines' | 'layout'> { bytes: Buffer }

/** Ends of the print in an upright picture of `photograph`, as shares of its width. */
const PRINT = { left: 0.12, right: 0.89 }
const COUNT = 42

const between = (random: Random, min: number, max: number) => min + random() * (max - min)
const clamp = (value: number, min: number, max: number) => Math.max(min, Math.min(max, value))

/** Changes each pixel separately. `change` gets its value, and its position as shares of width and height. */
function shaded (picture: Gray, change: (value: number, x: number, y: number) => number): Gray {
  const { width, height } = picture
  const data = new Uint8Array(width * height)
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at++) data[at] = clamp(change(picture.data[at]!, x / width, y / height), 0, 255)
  }
  return { data, width, height }
}

/**
 * Moves pixels. For each pixel `source` gets its position and returns the one to copy. Positions are relative to the
 * middle, in widths.
 */
function warped (picture: Gray, source: (x: number, y: number) => readonly [number, number], grow = 1.25): Gray {
  const width = Math.round(picture.width * grow)
  const height = Math.round(picture.height * grow)
  const data = new Uint8Array(width * height)
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at++) {
      const [u, v] = source((x - width / 2) / picture.width, (y - height / 2) / picture.width)
      data[at] = valueAt(picture, u * picture.width + picture.width / 2, v * picture.width + picture.height / 2)
    }
  }
  return { data, width, height }
}

function valueAt ({ data, width, height }: Gray, x: number, y: number): number {
  if (x < 0 || y < 0 || x >= width - 1 || y >= height - 1) return 85
  const [left, top] = [Math.floor(x), Math.floor(y)]
  const [fx, fy] = [x - left, y - top]
  const at = top * width + left
  return (data[at]! * (1 - fx) + data[at + 1]! * fx) * (1 - fy) +
    (data[at + width]! * (1 - fx) + data[at + width + 1]! * fx) * fy
}

function shear (degrees: number): Damage {
  return (picture, random) => {
    const by = Math.tan(degrees * Math.PI / 180) * (random() < 0.5 ? -1 : 1)
    return warped(picture, random() < 0.5 ? (x, y) => [x - by * y, y] : (x, y) => [x, y - by * x])
  }
}

function tilt (degrees: number): Damage {
  return (picture, random) => {
    const angle = degrees * Math.PI / 180 * (random() < 0.5 ? -1 : 1)
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)]
    return warped(picture, (x, y) => [x * cos + y * sin, y * cos - x * sin], degrees > 20 ? 1.4 : 1.2)
  }
}

/** One side of the document is smaller than the opposite one by this share. */
function perspective (share: number): Damage {
  return (picture, random) => {
    const [dx, dy] = random() < 0.5 ? [random() < 0.5 ? -share : share, 0] : [0, share]
    return warped(picture, (x, y) => {
      const w = 1 + x * dx + y * dy * picture.width / picture.height
      return [x / w, y / w]
    })
  }
}

function barrel (share: number): Damage {
  return (picture) => warped(picture, (x, y) => {
    const r = 1 + share * 4 * (x * x + y * y)
    return [x * r, y * r]
  }, 1)
}

function hardShadow (picture: Gray, random: Random): Gray {
  const [x0, slope, dark] = [between(random, 0.25, 0.75), between(random, -0.4, 0.4), between(random, 0.2, 0.4)]
  const side = random() < 0.5 ? -1 : 1
  return shaded(picture, (value, x, y) => (x - x0 - slope * (y - 0.5)) * side > 0 ? value * dark : value)
}

function softShadow (picture: Gray, random: Random): Gray {
  const [x0, soft] = [between(random, 0.2, 0.8), between(random, 0.05, 0.2)]
  const side = random() < 0.5 ? -1 : 1
  return shaded(picture, (value, x) => value * (1 - 0.65 / (1 + Math.exp(-side * (x - x0) / soft))))
}

/** A finger covers the last characters of all lines. */
function finger (picture: Gray, random: Random): Gray {
  const ratio = picture.height / picture.width
  const end = PRINT.right - between(random, 0.02, 0.16)
  const [rx, ry] = [between(random, 0.16, 0.22), between(random, 0.2, 0.3)]
  const skin = between(random, 150, 215)
  return shaded(picture, (value, x, y) => {
    const [dx, dy] = [(x - end - rx) / rx, (y - 0.86) * ratio / ry]
    const far = dx * dx + dy * dy
    return far < 1 ? skin * (1 - 0.25 * far) + 4 * Math.sin(x * 300) : value
  })
}

/** A reflection bleaches some characters. */
function glare (picture: Gray, random: Random): Gray {
  const ratio = picture.height / picture.width
  const [x0, y0, size] = [
    between(random, PRINT.left, PRINT.right), between(random, 0.72, 0.9), between(random, 0.015, 0.05)]
  const strength = between(random, 100, 330)
  return shaded(picture, (value, x, y) => {
    const far = ((x - x0) ** 2 + ((y - y0) * ratio) ** 2) / (size * size)
    return value + strength * Math.exp(-far)
  })
}

function moire (picture: Gray, random: Random): Gray {
  const { width, height } = picture
  const [period, angle, size] = [between(random, 2.3, 5), between(random, 0, Math.PI), between(random, 20, 40)]
  const [cos, sin] = [Math.cos(angle) * width, Math.sin(angle) * height]
  return shaded(picture, (value, x, y) => value + size * Math.sin((x * cos + y * sin) / period * 2 * Math.PI))
}

/** Motion blur: the mean of adjacent pixels in a row. */
function motion (length: number): Damage {
  return (picture, random) => {
    const along = random() < 0.7 ? 1 : picture.width
    const data = picture.data.map((_, at) => {
      let sum = 0
      for (let n = 0; n < length; n++) sum += picture.data[at + (n - (length >> 1)) * along] ?? 200
      return sum / length
    })
    return { ...picture, data }
  }
}

/** A black-and-white scan at a lower resolution. */
function oneBit (picture: Gray, random: Random): Gray {
  const bound = between(random, 95, 150)
  return shaded(resized(picture, between(random, 0.5, 0.8)), (value) => value > bound ? 255 : 0)
}

function resized (picture: Gray, scale: number): Gray {
  const [width, height] = [Math.round(picture.width * scale), Math.round(picture.height * scale)]
  const data = new Uint8Array(width * height)
  const step = 1 / scale
  const part = Math.max(1, Math.round(step * 2))
  for (let at = 0; at < data.length; at++) {
    const [x, y] = [at % width * step, Math.floor(at / width) * step]
    let sum = 0
    for (let n = 0; n < part * part; n++) {
      sum += valueAt(picture, x + n % part / part * step, y + Math.floor(n / part) / part * step)
    }
    data[at] = sum / (part * part)
  }
  return { data, width, height }
}

/** The picture ends before the lines do. */
function cutOff (picture: Gray, random: Random): Gray {
  const width = Math.round(picture.width * (PRINT.right - between(random, 0.005, 0.08)))
  const data = new Uint8Array(width * picture.height)
  for (let y = 0; y < picture.height; y++) {
    data.set(picture.data.subarray(y * picture.width, y * picture.width + width), y * width)
  }
  return { data, width, height: picture.height }
}

/** Ink that has come off in spots. */
function worn (picture: Gray, random: Random): Gray {
  const spots = Array.from({ length: 60 }, () => (
    { x: random(), y: between(random, 0.7, 0.95), size: between(random, 0.003, 0.012) }))
  const ratio = picture.height / picture.width
  return shaded(picture, (value, x, y) => {
    const isOff = spots.some((spot) => (x - spot.x) ** 2 + ((y - spot.y) * ratio) ** 2 < spot.size ** 2)
    return isOff ? Math.max(value, 200) : value
  })
}

function dim (picture: Gray, random: Random): Gray {
  return shaded(picture, (value) => value * 0.22 + (random() + random() + random() - 1.5) * 14)
}

/** A photo of 12 megapixels, of which the document fills a fifth of the width. */
function small (picture: Gray, random: Random): Gray {
  const card = resized(picture, 800 / picture.width)
  const [width, height] = [4000, 3000]
  const data = new Uint8Array(width * height).map((_, at) => 96 + 12 * Math.sin(at % width / 37) + random() * 8)
  const [left, top] = [Math.floor(random() * (width - card.width)), Math.floor(random() * (height - card.height))]
  for (let y = 0; y < card.height; y++) {
    data.set(card.data.subarray(y * card.width, (y + 1) * card.width), (top + y) * width + left)
  }
  return { data, width, height }
}

const blur = (sigma: number): Damage => (picture) => blurred(picture, sigma)

function blurred ({ data, width, height }: Gray, sigma: number): Gray {
  const radius = Math.ceil(3 * sigma)
  const weights = Array.from({ length: 2 * radius + 1 }, (_, n) => Math.exp(-((n - radius) ** 2) / (2 * sigma * sigma)))
  const total = weights.reduce((a, b) => a + b)
  const mix = (from: Float32Array, step: number) => {
    const out = new Float32Array(from.length)
    for (let at = 0; at < out.length; at++) {
      let sum = 0
      for (let n = 0; n < weights.length; n++) sum += weights[n]! * (from[at + (n - radius) * step] ?? 90)
      out[at] = sum / total
    }
    return out
  }
  return { data: Uint8Array.from(mix(mix(Float32Array.from(data), 1), width)), width, height }
}

export const ROWS: readonly Row[] = [
  { name: 'undamaged', damage: (picture) => picture },
  { name: 'hard shadow', damage: hardShadow },
  { name: 'soft shadow 65 %', damage: softShadow },
  { name: 'blur 2.5', damage: blur(2.5) },
  { name: 'blur 3.5', damage: blur(3.5) },
  { name: 'half size, blur 2', damage: (picture) => blurred(resized(picture, 0.5), 2) },
  { name: 'half size, blur 2.5', damage: (picture) => blurred(resized(picture, 0.5), 2.5) },
  { name: 'motion 7 px', damage: motion(7) },
  { name: 'motion 13 px', damage: motion(13) },
  { name: 'half size, motion 7 px', damage: (picture, random) => motion(7)(resized(picture, 0.5), random) },
  { name: 'finger over the right end', damage: finger },
  { name: 'cut off at the right end', damage: cutOff },
  { name: 'glare', damage: glare },
  { name: 'worn', damage: worn },
  { name: 'one-bit scan', damage: oneBit },
  { name: 'dim', damage: dim },
  { name: 'moire', damage: moire },
  { name: 'small print', damage: (picture, random) => resized(picture, between(random, 0.28, 0.4)) },
  { name: 'shear 12°', damage: shear(12) },
  { name: 'shear 15°', damage: shear(15) },
  { name: 'tilt 20°', damage: tilt(20) },
  { name: 'tilt 35°', damage: tilt(35), count: 18 },
  { name: 'tilt 45°', damage: tilt(45), count: 18 },
  { name: 'perspective 8 %', damage: perspective(0.08) },
  { name: 'perspective 15 %', damage: perspective(0.15) },
  { name: 'barrel 6 %', damage: barrel(0.06) },
  { name: 'a fifth of 12 megapixels', damage: small, count: 12 }
]

/** Print that is too slanted to straighten. */
export const TOO_SLANTED: Row = { name: 'shear 30°', damage: shear(30) }

/** Yields at most `count` pictures of a row. */
export async function * damagedPictures ({ name, damage, count = COUNT }: Row, limit = count): AsyncGenerator<Damaged> {
  for (const [n, { lines, layout }] of cases(Math.min(count, limit), 9).entries()) {
    const random = generator(n * 1009 + name.length * 31 + name.charCodeAt(0))
    const { data, width, height } = damage(await documentOf(lines, n), random)
    const bytes = await sharp(data, { raw: { width, height, channels: 1 } }).jpeg({ quality: 88 }).toBuffer()
    yield { lines, layout, bytes }
  }
}

/** Documents of the same lines are drawn once. */
const drawn = new Map<string, Gray>()

async function documentOf (lines: readonly string[], seed: number): Promise<Gray> {
  const key = lines.join()
  const known = drawn.get(key)
  if (known !== undefined) return known
  const random = generator(seed + 77)
  const bytes = await photograph(lines, {
    size: Math.round(between(random, 30, 40) * 44 / lines[0]!.length),
    angle: between(random, -3, 3),
    blur: 0.5,
    noise: between(random, 1, 6),
    seed,
    ink: Math.round(between(random, 10, 55)),
    card: Math.round(between(random, 185, 240)),
    quality: 90
  })
  const { data, info: { width, height } } = await sharp(bytes).greyscale().raw().toBuffer({ resolveWithObject: true })
  const [period, size] = [between(random, 9, 30), between(random, 2, 9)]
  const made = shaded({ data: new Uint8Array(data), width, height }, (value, x, y) =>
    value + size * Math.sin((y * height + 12 * Math.sin(x * width / 60)) / period * 2 * Math.PI) - size)
  drawn.set(key, made)
  return made
}
