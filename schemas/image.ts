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
  description: 'Base64, anche preceduto da «data:image/jpeg;base64,» (o png, webp)'
})

/** Accepted image formats with file extensions and media type. Stored files use the first extension. */
export const IMAGE_FORMATS = {
  jpeg: { extensions: ['jpg', 'jpeg'], contentType: 'image/jpeg' },
  png: { extensions: ['png'], contentType: 'image/png' },
  webp: { extensions: ['webp'], contentType: 'image/webp' }
} as const
export type ImageFormat = keyof typeof IMAGE_FORMATS
export type ImageExtension = typeof IMAGE_FORMATS[ImageFormat]['extensions'][number]

/** All accepted file extensions. */
export const IMAGE_EXTENSIONS = Object.values(IMAGE_FORMATS).flatMap(({ extensions }): readonly ImageExtension[] =>
  extensions)
