import { getDocument, OPS, VerbosityLevel } from 'unpdf/pdfjs'
import { PIXELS_MAX } from './image-limits.ts'
import type { RawImage } from './raw-image.ts'

/* PDFs of scanner apps: one page with one photo. A PDF is not rendered, so that it runs no fonts and no scripts. */

interface PdfImage { data?: Uint8Array, width: number, height: number, kind: number }

/** The reader's kinds of pixels. */
const [BITS, RGB, RGBA] = [1, 2, 3] as const
const CHANNELS: Readonly<Record<number, 1 | 3 | 4>> = { [BITS]: 1, [RGB]: 3, [RGBA]: 4 }

/** A few bytes may precede the header of a PDF. */
const HEADER_MAX = 1024

export function isPdf (bytes: Uint8Array): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, HEADER_MAX)).includes('%PDF-')
}

/**
 * The image of a PDF that has one page with one image, rotated like the page. Undefined for any other PDF, and for an
 * image of more than `PIXELS_MAX`.
 * @throws an error for a damaged file
 */
export async function pictureOfPdf (bytes: Uint8Array): Promise<RawImage | undefined> {
  const task = getDocument({
    // The reader transfers the bytes, which empties the buffer.
    data: Uint8Array.from(bytes),
    verbosity: VerbosityLevel.ERRORS,
    isEvalSupported: false,
    useSystemFonts: false,
    disableFontFace: true,
    isOffscreenCanvasSupported: false,
    isImageDecoderSupported: false,
    maxImageSize: PIXELS_MAX
  })
  try {
    const document = await task.promise
    if (document.numPages !== 1) return undefined
    const page = await document.getPage(1)
    const { fnArray: functions, argsArray } = await page.getOperatorList()
    const names = functions.flatMap((each, at) =>
      each === OPS.paintImageXObject ? (argsArray[at] as [string])[0] : [])
    const [name, ...others] = new Set(names)
    if (name === undefined || others.length > 0) return undefined
    const image = await new Promise<PdfImage | null>((resolve) => {
      (name.startsWith('g_') ? page.commonObjs : page.objs).get(name, resolve)
    })
    return image?.data === undefined ? undefined : rawOf(image, image.data, page.rotate)
  } finally {
    await task.destroy()
  }
}

function rawOf ({ width, height, kind }: PdfImage, data: Uint8Array, turn: number): RawImage | undefined {
  const channels = CHANNELS[kind]
  if (channels === undefined) return undefined
  return { data: channels === 1 ? unpacked(data, width, height) : Uint8Array.from(data), width, height, channels, turn }
}

/** One byte for each bit. Rows begin at whole bytes. */
function unpacked (data: Uint8Array, width: number, height: number): Uint8Array {
  const stride = Math.ceil(width / 8)
  const pixels = new Uint8Array(width * height)
  for (let at = 0; at < pixels.length; at++) {
    const [row, column] = [Math.floor(at / width), at % width]
    pixels[at] = data[row * stride + (column >> 3)]! & (0x80 >> (column & 7)) ? 255 : 0
  }
  return pixels
}
