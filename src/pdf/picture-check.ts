import { TemplateError } from './errors.ts'
import type { Asset } from './layout/build.ts'
import { checkLimit } from './pdf-limits.ts'

const PNG = Buffer.from([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
/** Starts of frames that say how large a JPEG is: all of C0 to CF but the tables among them. */
const FRAMES = new Set([0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF])

/**
 * Holds a picture to its format and its size, from its head alone: a small file can decode to all of the memory.
 * @throws TemplateError
 */
export function checkPicture (name: string, { data, format }: Asset): void {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  const size = format === 'png' ? pngSize(bytes) : jpegSize(bytes)
  if (size === undefined) {
    throw new TemplateError('DATI_NON_VALIDI', `«${name}» non è un’immagine ${format.toUpperCase()}`)
  }
  checkLimit('pixels', size.width * size.height)
}

interface Size { width: number, height: number }

function pngSize (bytes: Buffer): Size | undefined {
  const isPng = bytes.length >= 33 && bytes.subarray(0, 8).equals(PNG) && bytes.toString('latin1', 12, 16) === 'IHDR'
  if (!isPng) return undefined
  return positive({ width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) })
}

function jpegSize (bytes: Buffer): Size | undefined {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xFFD8) return undefined
  let at = 2
  while (at + 9 < bytes.length) {
    if (bytes[at] !== 0xFF) return undefined
    const marker = bytes[at + 1]!
    if (FRAMES.has(marker)) return positive({ height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) })
    at += 2 + bytes.readUInt16BE(at + 2)
  }
  return undefined
}

function positive (size: Size): Size | undefined {
  return size.width > 0 && size.height > 0 ? size : undefined
}
