import { existsSync } from 'node:fs'
import sharp, { type OverlayOptions } from 'sharp'

/* Images of fictitious documents. */

/** Debian's `fonts-ocr-b`. */
const FONT = '/usr/share/fonts/opentype/ocr-b/OCRB.otf'
/** The reason why image tests are skipped, or false. */
export const skip = existsSync(FONT) ? false : 'the font OCR-B (fonts-ocr-b) is not installed'

/** The way in which an image of a document is taken. */
export interface Shot {
  /** Font size, roughly in pixels. Capital letters have two thirds of it. */
  size: number
  /** Degrees, clockwise. */
  angle: number
  blur: number
  /** Standard deviation of the noise. */
  noise: number
  /** Gray values of the text and of the card. */
  ink: number
  card: number
  quality: number
  seed: number
}

export const CLEAN: Shot = { size: 40, angle: 0, blur: 0, noise: 0, ink: 20, card: 235, quality: 95, seed: 1 }

/** JPEG of a card with words at the top and an MRZ at the bottom, on a brown background. */
export async function photograph (lines: readonly string[], shot: Shot): Promise<Buffer> {
  const { size, ink, card } = shot
  const printed = await Promise.all(lines.map((line) => print(line, size, ink)))
  const width = Math.round(Math.max(...printed.map((each) => each.width)) * 1.12)
  const pitch = Math.round(size * 1.7)
  const height = Math.round(Math.max(width * 0.63, pitch * (lines.length + 5)))
  const words = await Promise.all(['REPUBLIC OF UTOPIA', 'Surname', 'Given names', 'Date of birth'].map((word, at) =>
    print(word, Math.round(size * (at === 0 ? 0.9 : 0.5)), ink + 40)))
  const left = Math.round(width * 0.06)
  const layers: OverlayOptions[] = [
    ...words.map(({ image }, at) => (
      { input: image, left: left + (at > 0 ? Math.round(width * 0.3) : 0), top: Math.round(size * (0.8 + at * 1.1)) })),
    ...printed.map(({ image }, at) => (
      { input: image, left, top: height - pitch * (lines.length - at) - Math.round(size * 0.3) }))
  ]
  const face = await canvas(width, height, card).composite(layers).png().toBuffer()
  const margin = Math.round(width * 0.08)
  const scene = await sharp(face)
    .extend({ top: margin, bottom: margin, left: margin, right: margin, background: { r: 96, g: 84, b: 72 } })
    .rotate(shot.angle, { background: { r: 96, g: 84, b: 72 } })
    .toBuffer()
  const blurred = shot.blur > 0 ? await sharp(scene).blur(shot.blur).toBuffer() : scene
  return await noisy(blurred, shot)
}

function canvas (width: number, height: number, gray: number) {
  return sharp({ create: { width, height, channels: 3, background: { r: gray, g: gray, b: gray } } })
}

/** One line of print on a transparent background. */
async function print (text: string, size: number, ink: number) {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  const image = await sharp({
    text: {
      text: `<span foreground="#${ink.toString(16).padStart(2, '0').repeat(3)}">${escaped}</span>`,
      font: 'OCRB',
      fontfile: FONT,
      rgba: true,
      dpi: Math.round(size * 5.5)
    }
  }).png().toBuffer({ resolveWithObject: true })
  return { image: image.data, width: image.info.width, height: image.info.height }
}

/** Adds camera noise, reproducible by seed. */
async function noisy (picture: Buffer, { noise, quality, seed }: Shot): Promise<Buffer> {
  const { data, info } = await sharp(picture).removeAlpha().raw().toBuffer({ resolveWithObject: true })
  const random = generator(seed)
  if (noise > 0) {
    for (let at = 0; at < data.length; at += 3) {
      const off = (random() + random() + random() + random() - 2) * noise * 1.7
      for (let c = 0; c < 3; c++) data[at + c] = Math.max(0, Math.min(255, data[at + c]! + off))
    }
  }
  const { width, height } = info
  return await sharp(data, { raw: { width, height, channels: 3 } }).jpeg({ quality }).toBuffer()
}

/** Random numbers from 0 to 1 (mulberry32). */
export function generator (seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6D2B79F5) | 0
    let mixed = Math.imul(state ^ state >>> 15, 1 | state)
    mixed = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed
    return ((mixed ^ mixed >>> 14) >>> 0) / 4294967296
  }
}
