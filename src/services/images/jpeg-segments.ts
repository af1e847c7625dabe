/* Markers of a JPEG file, after the byte 0xff (ISO/IEC 10918-1, table B.1). */
const RST0 = 0xd0
const RST7 = 0xd7
const SOI = 0xd8
const EOI = 0xd9
const SOS = 0xda
const COM = 0xfe
const APP0 = 0xe0
const APP14 = 0xee
const APP15 = 0xef

/** Frame headers of baseline and extended pictures, which cameras write. */
const FRAMES: readonly number[] = [0xc0, 0xc1]
/** Huffman tables, quantization tables and the restart interval. */
const TABLES: readonly number[] = [0xc4, 0xdb, 0xdd]
/** The four Huffman tables in one segment have at most 418. More could be a text, such as a script. */
const TABLE_BYTES_MAX = 1024
/** The segments that state the colours: JFIF without a thumbnail, and Adobe. */
const COLOURS: Readonly<Record<number, { name: string, size: number }>> = {
  [APP0]: { name: 'JFIF\0', size: 16 },
  [APP14]: { name: 'Adobe', size: 14 }
}
/** Limits the memory for a file of many empty segments. */
const SEGMENTS_MAX = 1000

/** The bytes from `start` up to, not including, `end`. */
interface Segment { start: number, end: number }

/**
 * The segments of a JPEG that a decoder needs, which are all but comments, metadata and data after the image.
 * @returns undefined for a file with anything unusual, such as garbage between segments, several scans, or four colour
 * components
 */
export function pictureSegments (bytes: Uint8Array): Segment[] | undefined {
  if (bytes[0] !== 0xff || bytes[1] !== SOI) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const segments = [{ start: 0, end: 2 }]
  let components = 0
  for (let start = 2; start + 10 <= bytes.length && segments.length < SEGMENTS_MAX;) {
    const marker = bytes[start] === 0xff ? bytes[start + 1]! : 0
    const size = view.getUint16(start + 2)
    const end = start + 2 + size
    if (marker === SOS) {
      const next = endOfScan(bytes, end)
      // A decoder stops after a scan of all components, so it would not check what follows.
      const isWhole = bytes[start + 4] === components && bytes[next + 1] === EOI
      return isWhole ? [...segments, { start, end: next + 2 }] : undefined
    }
    const isFrame = components === 0 && FRAMES.includes(marker)
    if (isFrame) components = componentsOf(bytes, start)
    if (isFrame || isNeeded(bytes, start, marker, size)) segments.push({ start, end })
    else if (!isDropped(marker)) return undefined
    start = end
  }
  return undefined
}

/** Moves the segments to the front of the bytes, and returns their part. */
export function keepSegments (bytes: Uint8Array, segments: readonly Segment[]): Uint8Array {
  let length = 0
  for (const { start, end } of segments) {
    bytes.copyWithin(length, start, end)
    length += end - start
  }
  return bytes.subarray(0, length)
}

/** The number of colour components of a frame. Zero, which no scan has, if they are not one or three of 8 bits. */
function componentsOf (bytes: Uint8Array, frame: number): number {
  const [precision, components = 0] = [bytes[frame + 4], bytes[frame + 9]]
  return precision === 8 && (components === 1 || components === 3) ? components : 0
}

function isNeeded (bytes: Uint8Array, start: number, marker: number, size: number): boolean {
  if (TABLES.includes(marker)) return size <= TABLE_BYTES_MAX
  const colours = COLOURS[marker]
  return colours?.size === size && String.fromCharCode(...bytes.subarray(start + 4, start + 9)) === colours.name
}

/** Comments and metadata. Other forms of the segments that state the colours are not dropped. */
function isDropped (marker: number): boolean {
  return marker === COM || (marker > APP0 && marker <= APP15 && marker !== APP14)
}

/** The position of the marker after the picture data at `start`. The data have restart markers, and 0xff as 0xff00. */
function endOfScan (bytes: Uint8Array, start: number): number {
  for (let at = bytes.indexOf(0xff, start); at !== -1; at = bytes.indexOf(0xff, at + 1)) {
    const marker = bytes[at + 1]!
    if (marker !== 0 && !(marker >= RST0 && marker <= RST7)) return at
  }
  return bytes.length
}
