import { createRequire } from 'node:module'
import type { RawImage } from './raw-image.ts'

/* HEIC, the photos of iPhones. The image library has no decoder for HEIC, so libheif in WebAssembly decodes it. */

/** A value inside the module. */
type Handle = object & { code?: unknown }

interface DecodedPlane { data: Uint8Array, stride: number, width: number, height: number }

/** The functions of libheif's module that are used here. */
interface Libheif {
  heif_context_alloc (): Handle
  heif_context_read_from_memory (context: Handle, bytes: Uint8Array): { code: unknown }
  heif_js_context_get_primary_image_handle (context: Handle): Handle
  heif_js_decode_image2 (image: Handle, colorspace: unknown, chroma: unknown): Promise<Handle & {
    channels?: DecodedPlane[]
  }>
  heif_error_code: { heif_error_Ok: unknown }
  heif_colorspace: { heif_colorspace_RGB: unknown }
  heif_chroma: { heif_chroma_interleaved_RGB: unknown }
}

const CHANNELS = 3
const load = createRequire(import.meta.url)
const quiet = { print: () => {}, printErr: () => {} }

/**
 * Decodes the primary image of a HEIC file, upright. Each image gets a separate module, which is garbage-collected with
 * its memory.
 * @throws an error for a damaged file
 */
export async function decodeHeic (bytes: Uint8Array): Promise<RawImage> {
  const start = load('libheif-js/libheif-wasm/libheif-bundle.js') as (options: object) => Libheif
  const lib = start(quiet)
  const context = lib.heif_context_alloc()
  const { code } = lib.heif_context_read_from_memory(context, bytes)
  if (code !== lib.heif_error_code.heif_error_Ok) throw new Error('damaged HEIC file')
  const image = lib.heif_js_context_get_primary_image_handle(context)
  if (image.code !== undefined) throw new Error('no primary image')
  const { channels: [plane] = [] } = await lib.heif_js_decode_image2(
    image, lib.heif_colorspace.heif_colorspace_RGB, lib.heif_chroma.heif_chroma_interleaved_RGB
  )
  if (plane === undefined) throw new Error('damaged HEIC image')
  return { data: packed(plane), width: plane.width, height: plane.height, channels: CHANNELS }
}

/** Removes the padding after each row. */
function packed ({ data, stride, width, height }: DecodedPlane): Uint8Array {
  const length = width * CHANNELS
  if (stride === length) return data.subarray(0, length * height)
  const pixels = new Uint8Array(length * height)
  for (let row = 0; row < height; row++) {
    pixels.set(data.subarray(row * stride, row * stride + length), row * length)
  }
  return pixels
}
