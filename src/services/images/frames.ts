const PNG_SIGNATURE = 8
const RIFF_HEADER = 12

/**
 * Whether a PNG or WebP file says that it has several frames. The decoder would silently take the first one, which need
 * not be what the sender saw. Only headers of chunks are looked at.
 */
export function isAnimated (bytes: Uint8Array, format: string): boolean {
  if (format === 'png') return hasChunk(bytes, PNG_SIGNATURE, pngChunk, 'acTL', 'IDAT')
  return format === 'webp' && hasChunk(bytes, RIFF_HEADER, riffChunk, 'ANIM', 'VP8 ')
}

interface Chunk { name: string, next: number }
type ReadChunk = (view: DataView, at: number) => Chunk

/** Whether the chunk comes before the one that ends the search. */
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
