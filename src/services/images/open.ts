import sharp, { type Sharp } from 'sharp'
import { IMAGE_FORMATS, type ImageFormat } from '#schemas/image.ts'
import { isAnimated } from './frames.ts'
import { PIXELS_MAX, SECONDS_MAX, SIDE_MAX } from './limits.ts'

/* For tasks of `plugins/workers`: the library that decodes is loaded in their threads alone. */

/** Why an image is not taken. */
export type ImageFault = 'format' | 'damaged' | 'large' | 'frames' | 'complex'

export type Opened<Made> = { fault: ImageFault } | { fault: null, made: Made }

// Of the many formats that the library reads, only those that are taken are ever looked at.
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({
  operation: ['VipsForeignLoadJpegBuffer', 'VipsForeignLoadPngBuffer', 'VipsForeignLoadWebpBuffer']
})
// No image is seen twice, and the pool decides how much is done at a time.
sharp.cache(false)
sharp.concurrency(1)

/**
 * Has something made of an image that a stranger sent, set upright. It is judged by its content, and its header is read
 * before anything is decoded.
 */
export async function withImage<Made> (
  bytes: Uint8Array, make: (image: Sharp, format: ImageFormat) => Promise<Made>
): Promise<Opened<Made>> {
  if (bytes.byteLength === 0) return { fault: 'format' }
  try {
    const image = sharp(bytes, { failOn: 'error', limitInputPixels: PIXELS_MAX, sequentialRead: true })
      .timeout({ seconds: SECONDS_MAX })
    const { format, width, height } = await image.metadata()
    if (!isTaken(format)) return { fault: 'format' }
    if (Math.max(width, height) > SIDE_MAX || width * height > PIXELS_MAX) return { fault: 'large' }
    if (isAnimated(bytes, format)) return { fault: 'frames' }
    return { fault: null, made: await make(image.autoOrient(), format) }
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
