import type { ImageFormat, SourceFormat } from '#schemas/image.ts'
import { withImage, type Opened } from './decode-image.ts'

export interface Picture {
  bytes: Uint8Array
  /** Maximum length of the longer side in pixels. Larger images are scaled down. */
  sideMax: number
}

export interface Reencoded { bytes: Uint8Array, format: ImageFormat, source: SourceFormat }

/** With the default kernel a photo of 12 megapixels takes a sixth more time. */
const INSIDE = { fit: 'inside', withoutEnlargement: true, kernel: 'linear' } as const
/** Minimum longer side of a JPEG after its reduction to a third. */
const THIRD_MIN = 2000
/** Text on a document must stay readable after the second compression. */
const OUTPUT = {
  // Optimised Huffman tables would save 3% of the bytes, but take 70 MB of memory and 67% more time.
  jpeg: { quality: 90, optimiseCoding: false },
  png: {},
  // With a higher quality some large images would exceed the format's limits.
  webp: { quality: 80, effort: 2 }
} as const

/**
 * Decodes an image and re-encodes it upright in its format, or as JPEG if that format is not stored. This drops
 * metadata, including the location of a photo, and any data after the image.
 */
export default async function reencode ({ bytes, sideMax }: Picture): Promise<Opened<Reencoded>> {
  return await withImage(bytes, async (image, { format, source, side }) => {
    const target = source === 'jpeg' ? jpegSide(side, sideMax) : sideMax
    const sized = image.resize({ ...INSIDE, width: target, height: target })
    return { bytes: await sized.toFormat(format, OUTPUT[format]).toBuffer(), format, source }
  })
}

/**
 * The library decodes a JPEG at half size if the result is at most a third as wide. So a reduction to a third takes two
 * thirds of the time of a reduction to a half. The result has at least half of `sideMax`.
 */
function jpegSide (side: number, sideMax: number): number {
  const third = Math.floor(side / 3)
  return side > sideMax && third >= Math.max(THIRD_MIN, sideMax / 2) ? Math.min(third, sideMax) : sideMax
}
