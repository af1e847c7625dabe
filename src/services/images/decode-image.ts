import sharp, { type Sharp } from 'sharp'
import { IMAGE_FORMATS, type ImageFormat } from '#schemas/image.ts'
import { PIXELS_MAX, SECONDS_MAX, SIDE_MAX } from './image-limits.ts'

const PNG_SIGNATURE = 8
const RIFF_HEADER = 12

/**
 * Whether a PNG or WebP file declares several frames. The decoder would silently use the first one, which may differ
 * from what the sender saw. Reads only chunk headers.
 */
function isAnimated (bytes: Uint8Array, format: string): boolean {
  if (format === 'png') return hasChunk(bytes, PNG_SIGNATURE, pngChunk, 'acTL', 'IDAT')
  return format === 'webp' && hasChunk(bytes, RIFF_HEADER, riffChunk, 'ANIM', 'VP8 ')
}

interface Chunk { name: string, next: number }
type ReadChunk = (view: DataView, at: number) => Chunk

/** Whether the wanted chunk precedes the one that ends the search. */
function hasChunk (bytes: Uint8Array, start: number, read: ReadChunk, wanted: string, last: string): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let at = start; at + 8 <= bytes.byteLength;) {
    const { name, next } = read(view, at)
    if (name === wanted) return true
    if (name === last) return false
    at = next
  }
  return false
}

/** Length, name, data, checksum. */
const pngChunk: ReadChunk = (view, at) => ({ name: nameAt(view, at + 4), next: at + 12 + view.getUint32(at) })

/** Name, length, data, padded to an even length. */
const riffChunk: ReadChunk = (view, at) => {
  const length = view.getUint32(at + 4, true)
  return { name: nameAt(view, at), next: at + 8 + length + length % 2 }
}

function nameAt (view: DataView, at: number): string {
  return String.fromCharCode(...[0, 1, 2, 3].map((n) => view.getUint8(at + n)))
}

/* For tasks of `services/workers`: only their threads load the decoding library. */

/** The reason why an image is rejected. */
export type ImageFault = 'format' | 'damaged' | 'large' | 'frames' | 'complex'

export type Opened<Made> = { fault: ImageFault } | { fault: null, made: Made }

// Disables all of the library's decoders, then enables those of accepted formats.
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({
  operation: ['VipsForeignLoadJpegBuffer', 'VipsForeignLoadPngBuffer', 'VipsForeignLoadWebpBuffer']
})
// No image is decoded twice, and the pool limits concurrency.
sharp.cache(false)
sharp.concurrency(1)

/**
 * Processes an untrusted image, rotated upright. The format is detected from its content, and its header is checked
 * before decoding.
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

/** The library has no error codes, only messages. Other messages mean that the bytes cannot be decoded. */
function faultOf ({ message }: Error): ImageFault {
  if (/unsupported image format/.test(message)) return 'format'
  if (/exceeds pixel limit/.test(message)) return 'large'
  return /timeout|unable to encode/.test(message) ? 'complex' : 'damaged'
}
