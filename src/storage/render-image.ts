import type { Sharp } from 'sharp'
import type { ImageFormat } from '#schemas/image.ts'
import { withImage, type Opened } from '#src/services/images/decode-image.ts'
import type { Rendering } from './transforms.ts'

export interface RenderJob { bytes: Uint8Array, rendering: Rendering }
export interface Rendered { bytes: Uint8Array, format: ImageFormat | 'avif' }

/** The defaults of the real server, including the quality. */
const OUTPUT = {
  jpeg: { quality: 80, optimiseCoding: false },
  png: {},
  webp: { quality: 80, effort: 2 },
  // A higher effort takes a minute for the largest rendition.
  avif: { quality: 62, effort: 0 }
} as const

/** Decodes an untrusted image and renders it upright, without metadata, and never larger than the original. */
export default async function renderImage ({ bytes, rendering }: RenderJob): Promise<Opened<Rendered>> {
  return await withImage(bytes, async (image, { format: ownFormat }) => {
    const { quality, format = ownFormat } = rendering
    // sharp reduces the colours of a PNG when a quality is set.
    const output = { ...OUTPUT[format], ...(quality && format !== 'png' ? { quality } : {}) }
    return { bytes: await (await resized(image, rendering)).toFormat(format, output).toBuffer(), format }
  })
}

async function resized (image: Sharp, { width, height, resize }: Rendering): Promise<Sharp> {
  if (resize === undefined) return image
  if (resize !== 'fill') {
    return image.resize({ width, height, fit: resize === 'cover' ? 'cover' : 'inside', withoutEnlargement: true })
  }
  const { autoOrient: own } = await image.metadata()
  const [wide, high] = [width ?? own.width, height ?? own.height]
  // An image smaller than requested still gets the requested proportions.
  const shrink = Math.max(wide / own.width, high / own.height, 1)
  const sized = (side: number) => Math.max(1, Math.round(side / shrink))
  return image.resize({ width: sized(wide), height: sized(high), fit: 'fill' })
}
