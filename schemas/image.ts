import { Type } from '@sinclair/typebox'

/** Maximum bytes of a decoded image, else 413. */
export const IMAGE_BYTES_MAX = 10 * 1024 * 1024
/** Maximum bytes of its request body. */
export const IMAGE_BODY_MAX = 15 * 1024 * 1024

/** Valid images of a few pixels, so that the examples of operations work. */
export const JPEG_EXAMPLE = '/9j/2wBDAFA3PEY8MlBGQUZaVVBfeMiCeG5uePWvuZHI////////////////////////////////////' +
  '////////////////2wBDAVVaWnhpeOuCguv/////////////////////////////////////////////////////////////////' +
  '////////wAARCAAIAAgDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAT/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFAEB' +
  'AAAAAAAAAAAAAAAAAAAAAP/EABQRAQAAAAAAAAAAAAAAAAAAAAD/2gAMAwEAAhEDEQA/ALQAf//Z'
export const PNG_EXAMPLE = 'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAMAAADz0U65AAAAA1BMVEUfTkZBRV+5AAAACXBIWXMAAAPo' +
  'AAAD6AG1e1JrAAAADElEQVQI12NgoA4AAABIAAH/myMhAAAAAElFTkSuQmCC'

/**
 * An image as text. It has no length limit in the schema, which would count characters, at 9 ms a megabyte. The body
 * limit applies.
 */
export const ImageText = Type.String({
  format: 'byte',
  description: 'Base64, anche a righe, URL-safe o senza riempimento, anche preceduto da «data:image/jpeg;base64,»'
})

/** Formats of stored images with file extensions and media type. Stored files use the first extension. */
export const IMAGE_FORMATS = {
  jpeg: { extensions: ['jpg', 'jpeg'], contentType: 'image/jpeg' },
  png: { extensions: ['png'], contentType: 'image/png' },
  webp: { extensions: ['webp'], contentType: 'image/webp' }
} as const
export type ImageFormat = keyof typeof IMAGE_FORMATS
export type ImageExtension = typeof IMAGE_FORMATS[ImageFormat]['extensions'][number]

/** Further formats that are accepted, with their file extensions. They are stored as JPEG. */
const CONVERTED_FORMATS = {
  heic: { extensions: ['heic', 'heif'] },
  avif: { extensions: ['avif'] },
  tiff: { extensions: ['tif', 'tiff'] },
  pdf: { extensions: ['pdf'] }
} as const

export const SOURCE_FORMATS = { ...IMAGE_FORMATS, ...CONVERTED_FORMATS } as const
export type SourceFormat = keyof typeof SOURCE_FORMATS

/** All accepted file extensions. */
export const SOURCE_EXTENSIONS = Object.values(SOURCE_FORMATS).flatMap(({ extensions }): readonly string[] =>
  extensions)

/** The media types of bodies that are an image. Their last part is a file extension of the format. */
export const IMAGE_TYPES = [
  'image/jpeg', 'image/png', 'image/webp', 'image/heic', 'image/heif', 'image/avif', 'image/tiff', 'application/pdf'
] as const

/** The accepted formats in words. */
export const SOURCE_WORDS = 'JPEG, PNG, WebP, HEIC, AVIF, TIFF o un PDF di una pagina con una sola immagine'
