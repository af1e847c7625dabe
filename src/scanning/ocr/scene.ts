import sharp, { type Sharp } from 'sharp'
import { withImage, type Opened } from '#src/services/images/decode-image.ts'
import { brightest, type Gray } from '../mrz/reader/gray.ts'

/** The reader of the text: the local engine or an external provider. */
export type TextReaderKind = 'engine' | 'provider'

export interface ScenePayload {
  bytes: Uint8Array
  text: TextReaderKind | null
}

/** The image in the formats that its readers need. It is upright according to its EXIF orientation. */
export interface Scene {
  /** The image for the zone reader. */
  picture: Gray
  /** The image for the local OCR engine. Null for noise, which the engine would read for a minute. */
  page: Gray | null
  /** The image for an external provider. */
  jpeg: Uint8Array | null
}

/** Maximum longer side in pixels, for the zone reader and for an external provider. */
const SIDE = 2400
/** The same for the local OCR engine. A larger image takes more time and gives no better text. */
const TEXT_SIDE = 1600
const PROVIDER_QUALITY = 85
/**
 * An image is noise if `share` of the pixels differ by more than `difference` from their left neighbour. The share is
 * 0.12 for a page of dense small print, and usually 0.5 for noise.
 */
const NOISE = { share: 0.2, difference: 48 }

const inside = (side: number) => ({ width: side, height: side, fit: 'inside', withoutEnlargement: true }) as const

/** A worker task that decodes the image once for all readers. */
export default async function scene ({ bytes, text }: ScenePayload): Promise<Opened<Scene>> {
  return await withImage(bytes, async (image) => {
    const { data, info } = await image
      .resize(inside(SIDE))
      .flatten({ background: 'white' })
      .toColourspace('srgb')
      .raw({ depth: 'uchar' })
      .toBuffer({ resolveWithObject: true })
    const { width, height, channels } = info
    const pixels = sharp(data, { raw: { width, height, channels } })
    return {
      picture: channels === 1 ? { data: Uint8Array.from(data), width, height } : brightest(data, width, height),
      page: text === 'engine' ? await inGray(pixels) : null,
      jpeg: text === 'provider' ? await pixels.jpeg({ quality: PROVIDER_QUALITY }).toBuffer() : null
    }
  })
}

async function inGray (pixels: Sharp): Promise<Gray | null> {
  const { data, info } = await pixels.resize(inside(TEXT_SIDE)).greyscale().raw().toBuffer({ resolveWithObject: true })
  const page = { data: Uint8Array.from(data), width: info.width, height: info.height }
  return isNoise(page) ? null : page
}

function isNoise ({ data }: Gray): boolean {
  const limit = data.length * NOISE.share
  let changes = 0
  for (let at = 1; at < data.length; at++) {
    if (Math.abs(data[at]! - data[at - 1]!) > NOISE.difference && ++changes > limit) return true
  }
  return false
}
