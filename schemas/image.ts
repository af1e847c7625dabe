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
