import { TRANSFORM_SIDE_MAX, type Transform } from '#schemas/storage-transform.ts'

/** A transformation with its final output format. Values that the request omits are missing. */
export interface Rendering {
  width?: number
  height?: number
  resize?: 'cover' | 'contain' | 'fill'
  quality?: number
  /** Missing means the format of the image. */
  format?: 'webp' | 'avif'
}

/** Whether a transformation changes the image. If not, a signed link reads the file itself. */
export function isTransformed (transform: Transform): boolean {
  return Object.keys(renderingOf(transform, undefined)).length > 0
}

/** Whether the response depends on the header `Accept`. */
export function isNegotiated ({ format }: Transform): boolean {
  return format === undefined
}

/** The rendering for a client. Sizes have the limits of the real server, and 0 means a missing size. */
export function renderingOf (transform: Transform, accept: string | undefined): Rendering {
  const { width, height, resize = 'cover', quality, format } = transform
  const wanted = format ?? (accept?.includes('image/webp') ? 'webp' : 'origin')
  return {
    ...width && { width: Math.min(width, TRANSFORM_SIDE_MAX) },
    ...height && { height: Math.min(height, TRANSFORM_SIDE_MAX) },
    ...(width || height) && { resize },
    ...quality && { quality },
    ...wanted !== 'origin' && { format: wanted }
  }
}

/** The names of `resize` on the real server. */
const RESIZING = { cover: 'fill', contain: 'fit', fill: 'force' } as const

/** A rendering in the terms of the real server. Equal renderings have the same text, which is the rendition's name. */
export function describeRendering ({ width, height, resize, quality, format }: Rendering): string {
  const parts = { height, width, resizing_type: resize && RESIZING[resize], quality, format }
  return Object.entries(parts).flatMap(([name, value]) => value === undefined ? [] : [`${name}:${value}`]).join(',')
}
