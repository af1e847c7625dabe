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

/** Frame headers of pictures with Huffman codes: baseline, extended and progressive. */
const FRAMES: readonly number[] = [0xc0, 0xc1, 0xc2]
/** Huffman tables, quantization tables and the restart interval. */
const TABLES: readonly number[] = [0xc4, 0xdb, 0xdd]
/** Lengths of the segments that state the colours: JFIF without a thumbnail, and Adobe. */
const COLOURS: Readonly<Record<number, number>> = { [APP0]: 16, [APP14]: 14 }

/** A camera writes fewer than 100. */
const SEGMENTS_MAX = 1000

/** The bytes from `start` up to, not including, `end`. */
interface Segment { start: number, end: number }

/**
 * The segments of a JPEG that a decoder needs, which are all but comments, metadata and data after the image.
 * @returns undefined for a file with anything unusual, such as garbage between segments or four colour components
 */
export function pictureSegments (bytes: Uint8Array): Segment[] | undefined {
  if (bytes[0] !== 0xff || bytes[1] !== SOI) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const segments = [{ start: 0, end: 2 }]
  for (let start = 2; start + 2 <= bytes.length && segments.length < SEGMENTS_MAX;) {
    const marker = bytes[start] === 0xff ? bytes[start + 1]! : 0
    if (marker === EOI) return [...segments, { start, end: start + 2 }]
    if (start + 4 > bytes.length) return undefined
    const size = view.getUint16(start + 2)
    const end = marker === SOS ? endOfScan(bytes, start + 2 + size) : start + 2 + size
    if (isNeeded(bytes, start, marker, size)) segments.push({ start, end })
    else if (marker !== COM && !(marker >= APP0 && marker <= APP15)) return undefined
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

function isNeeded (bytes: Uint8Array, start: number, marker: number, size: number): boolean {
  // A frame header has the precision after its size, and the number of components after height and width.
  if (FRAMES.includes(marker)) return bytes[start + 4] === 8 && (bytes[start + 9] === 1 || bytes[start + 9] === 3)
  return marker === SOS || TABLES.includes(marker) || COLOURS[marker] === size
}

/** The position of the marker after the picture data at `start`. The data have restart markers, and 0xff as 0xff00. */
function endOfScan (bytes: Uint8Array, start: number): number {
  for (let at = bytes.indexOf(0xff, start); at !== -1; at = bytes.indexOf(0xff, at + 1)) {
    const marker = bytes[at + 1]!
    if (marker !== 0 && !(marker >= RST0 && marker <= RST7)) return at
  }
  return bytes.length
}
