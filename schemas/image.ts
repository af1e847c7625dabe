import { Type } from '@sinclair/typebox'

/** Bytes of an image, decoded; 413 beyond. */
export const IMAGE_BYTES_MAX = 10 * 1024 * 1024
/** Bytes of the body that brings it. */
export const IMAGE_BODY_MAX = 15 * 1024 * 1024

/** Images of a few pixels, whole and true: who tries an operation out with its example gets an answer. */
export const JPEG_EXAMPLE = '/9j/2wBDAFA3PEY8MlBGQUZaVVBfeMiCeG5uePWvuZHI////////////////////////////////////' +
  '////////////////2wBDAVVaWnhpeOuCguv/////////////////////////////////////////////////////////////////' +
  '////////wAARCAAIAAgDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAT/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFAEB' +
  'AAAAAAAAAAAAAAAAAAAAAP/EABQRAQAAAAAAAAAAAAAAAAAAAAD/2gAMAwEAAhEDEQA/ALQAf//Z'
export const PNG_EXAMPLE = 'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAMAAADz0U65AAAAA1BMVEUfTkZBRV+5AAAACXBIWXMAAAPo' +
  'AAAD6AG1e1JrAAAADElEQVQI12NgoA4AAABIAAH/myMhAAAAAElFTkSuQmCC'

/**
 * An image as text. Looked at when it is decoded: a length in the schema would be counted character by character, 9 ms
 * a megabyte; it is bounded by that of the body.
 */
export const ImageText = Type.String({
  format: 'byte',
  description: 'Base64, anche preceduto da «data:image/jpeg;base64,» (o png, webp)'
})

/**
 * The image formats that are taken and stored: how a file is called, and its media type. The first extension is that of
 * the stored file.
 */
export const IMAGE_FORMATS = {
  jpeg: { extensions: ['jpg', 'jpeg'], contentType: 'image/jpeg' },
  png: { extensions: ['png'], contentType: 'image/png' },
  webp: { extensions: ['webp'], contentType: 'image/webp' }
} as const
export type ImageFormat = keyof typeof IMAGE_FORMATS
export type ImageExtension = typeof IMAGE_FORMATS[ImageFormat]['extensions'][number]

/** Every extension by which a client may call an image. */
export const IMAGE_EXTENSIONS = Object.values(IMAGE_FORMATS).flatMap(({ extensions }): readonly ImageExtension[] =>
  extensions)
