import sharp from 'sharp'
import { IMAGE_FORMATS, type ImageFormat } from '#schemas/image.ts'
import { isAnimated } from './frames.ts'
import { PIXELS_MAX, SECONDS_MAX, SIDE_MAX } from './limits.ts'

/* A task of `plugins/workers`: the library that decodes is loaded in its threads alone. */

/** Why an image is not taken. */
export type ImageFault = 'format' | 'damaged' | 'large' | 'frames' | 'complex'

export interface Picture {
  bytes: Uint8Array
  /** Pixels of the longer side at most; a larger image is made smaller. */
  sideMax?: number | undefined
}

export type Reencoded =
  | { fault: ImageFault }
  | { fault: null, bytes: Uint8Array, format: ImageFormat }

// Of the many formats that the library reads, only those that are taken are ever looked at.
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({
  operation: ['VipsForeignLoadJpegBuffer', 'VipsForeignLoadPngBuffer', 'VipsForeignLoadWebpBuffer']
})
// No image is seen twice, and the pool decides how much is done at a time.
sharp.cache(false)
sharp.concurrency(1)

/** A guest's name must stay readable on a photo that is compressed a second time. */
const OUTPUT = {
  // Better Huffman tables spare a thirtieth of the bytes, for 70 MB of memory and two thirds more time.
  jpeg: { quality: 90, optimiseCoding: false },
  png: {},
  // A better quality is more than the format holds of some large images.
  webp: { quality: 80, effort: 2 }
} as const

/**
 * Decodes an image and encodes it anew in its own format, upright. What is not a pixel is left behind: metadata, with
 * the place of the photo, and whatever a file carries after the end of its image.
 */
export default async function reencode ({ bytes, sideMax }: Picture): Promise<Reencoded> {
  if (bytes.byteLength === 0) return { fault: 'format' }
  try {
    const image = sharp(bytes, { failOn: 'error', limitInputPixels: PIXELS_MAX, sequentialRead: true })
      .timeout({ seconds: SECONDS_MAX })
    const { format, width, height } = await image.metadata()
    if (!isTaken(format)) return { fault: 'format' }
    if (Math.max(width, height) > SIDE_MAX || width * height > PIXELS_MAX) return { fault: 'large' }
    if (isAnimated(bytes, format)) return { fault: 'frames' }
    const size = sideMax && { width: sideMax, height: sideMax, fit: 'inside', withoutEnlargement: true } as const
    image.autoOrient().resize(size || {}).toFormat(format, OUTPUT[format])
    return { fault: null, bytes: await image.toBuffer(), format }
  } catch (err) {
    return { fault: faultOf(err as Error) }
  }
}

function isTaken (format: string): format is ImageFormat {
  return Object.hasOwn(IMAGE_FORMATS, format)
}

/** The library has words, no codes. Whatever else it says is said of bytes that it cannot decode. */
function faultOf ({ message }: Error): ImageFault {
  if (/unsupported image format/.test(message)) return 'format'
  if (/exceeds pixel limit/.test(message)) return 'large'
  return /timeout|unable to encode/.test(message) ? 'complex' : 'damaged'
}
