import sharp, { type Sharp } from 'sharp'
import { IMAGE_FORMATS, type ImageFormat, type SourceFormat } from '#schemas/image.ts'
import { decodeHeic } from './heic.ts'
import { PIXELS_MAX, SECONDS_MAX, SIDE_MAX } from './image-limits.ts'
import { isPdf, pictureOfPdf } from './pdf-picture.ts'
import type { RawImage } from './raw-image.ts'

const PNG_SIGNATURE = 8
const RIFF_HEADER = 12

/**
 * Whether a PNG or WebP file declares several frames. The decoder would silently use the first frame, but the sender
 * may have seen another one. Reads only chunk headers.
 */
function isAnimated (bytes: Uint8Array, format: string): boolean {
  if (format === 'png') return hasChunk(bytes, PNG_SIGNATURE, pngChunk, 'acTL', 'IDAT')
  return format === 'webp' && hasChunk(bytes, RIFF_HEADER, riffChunk, 'ANIM', 'VP8 ')
}

interface Chunk { name: string, next: number }
type ReadChunk = (view: DataView, at: number) => Chunk

/** Whether the chunk `wanted` is present before the chunk `last`. */
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

/** A PNG chunk: length, name, data, checksum. */
const pngChunk: ReadChunk = (view, at) => ({ name: nameAt(view, at + 4), next: at + 12 + view.getUint32(at) })

/** A RIFF chunk: name, length, data padded to an even length. */
const riffChunk: ReadChunk = (view, at) => {
  const length = view.getUint32(at + 4, true)
  return { name: nameAt(view, at), next: at + 8 + length + length % 2 }
}

function nameAt (view: DataView, at: number): string {
  return String.fromCharCode(...[0, 1, 2, 3].map((n) => view.getUint8(at + n)))
}

/* Only tasks of `services/workers` may decode images, because only their threads load the decoding library. */

/** The reason why an image is rejected. */
export type ImageFault = 'format' | 'damaged' | 'frames' | 'complex' | 'pdf'

/** A rejected image, with its size if it is too large, or the result for an accepted one. */
export type Opened<Made> =
  | { fault: ImageFault }
  | { fault: 'large', width: number, height: number }
  | { fault: null, made: Made }

/** An accepted image: its format, and the format in which it is stored. */
interface ImageKind {
  source: SourceFormat
  format: ImageFormat
  /** The longer side, in pixels. */
  side: number
}

// Disables all of the library's decoders, then enables those of accepted formats.
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({
  operation: ['Jpeg', 'Png', 'Webp', 'Heif', 'Tiff'].map((name) => `VipsForeignLoad${name}Buffer`)
})
// No cache, because no image is decoded twice. One thread, because the pool limits concurrency.
sharp.cache(false)
sharp.concurrency(1)

/**
 * Processes an untrusted image, rotated upright. Detects the format from the content, and checks the header before
 * decoding.
 */
export async function withImage<Made> (
  bytes: Uint8Array, make: (image: Sharp, kind: ImageKind) => Promise<Made>
): Promise<Opened<Made>> {
  if (bytes.byteLength === 0) return { fault: 'format' }
  try {
    const opened = isPdf(bytes) ? await openPdf(bytes) : await openImage(bytes)
    if ('fault' in opened) return opened
    const { image, source, width, height } = opened
    const format = isStored(source) ? source : 'jpeg'
    const made = await make(image.timeout({ seconds: SECONDS_MAX }), { source, format, side: Math.max(width, height) })
    return { fault: null, made }
  } catch (err) {
    return { fault: faultOf(err as Error) }
  }
}

interface OpenImage { image: Sharp, source: SourceFormat, width: number, height: number }
type Rejected = Exclude<Opened<never>, { fault: null }>

async function openImage (bytes: Uint8Array): Promise<OpenImage | Rejected> {
  const { format, compression, width, height, pages = 1 } = await sharp(bytes, { limitInputPixels: false }).metadata()
  const source = sourceOf(format, compression)
  if (source === undefined) return { fault: 'format' }
  if (Math.max(width, height) > SIDE_MAX || width * height > PIXELS_MAX) return { fault: 'large', width, height }
  if (isAnimated(bytes, format) || (pages > 1 && !isStored(source))) return { fault: 'frames' }
  const image = source === 'heic'
    ? ofPixels(await decodeHeic(bytes))
    : sharp(bytes, { failOn: 'error', limitInputPixels: PIXELS_MAX, sequentialRead: true }).autoOrient()
  return { image: isStored(source) ? image : image.flatten({ background: 'white' }), source, width, height }
}

async function openPdf (bytes: Uint8Array): Promise<OpenImage | Rejected> {
  const picture = await pictureOfPdf(bytes)
  if (picture === undefined) return { fault: 'pdf' }
  const { width, height } = picture
  if (Math.max(width, height) > SIDE_MAX) return { fault: 'large', width, height }
  return { image: ofPixels(picture).flatten({ background: 'white' }), source: 'pdf', width, height }
}

function ofPixels ({ data, turn = 0, ...raw }: RawImage): Sharp {
  return sharp(data, { raw, limitInputPixels: PIXELS_MAX }).rotate(turn)
}

/** The library gives HEIC and AVIF the same name. */
function sourceOf (format: string, compression: string | undefined): SourceFormat | undefined {
  if (format === 'heif') return compression === 'av1' ? 'avif' : compression === 'hevc' ? 'heic' : undefined
  return format === 'tiff' || isStored(format) ? format : undefined
}

function isStored (format: string): format is ImageFormat {
  return Object.hasOwn(IMAGE_FORMATS, format)
}

/** The library has no error codes, only messages. Other messages mean that the bytes cannot be decoded. */
function faultOf ({ message }: Error): ImageFault {
  if (/unsupported image format/.test(message)) return 'format'
  return /timeout|unable to encode/.test(message) ? 'complex' : 'damaged'
}
