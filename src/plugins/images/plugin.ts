import fp from 'fastify-plugin'
import { IMAGE_FORMATS, type ImageExtension, type ImageFormat } from '#schemas/image.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import type { RunOptions } from '../workers/pool.ts'
import { PIXELS_MAX, SIDE_MAX } from './limits.ts'
import type { default as reencode, ImageFault, Picture } from './reencode.ts'

/** An image as it is stored. */
export interface Image {
  bytes: Buffer
  format: ImageFormat
  contentType: string
  extension: ImageExtension
}

export interface ReencodeOptions extends Pick<RunOptions, 'caller' | 'signal'>, Pick<Picture, 'sideMax'> {
  /** The field that the image came in, for the refusal. */
  campo: string
}

export interface Images {
  /**
   * Makes an image that is safe to keep of bytes that a stranger sent: JPEG, PNG or WebP by their content, decoded and
   * encoded anew, upright and without metadata. The bytes may be handed over to a thread: they are empty afterwards.
   * @throws CampiNonValidi for anything that is not such an image
   * @throws ServizioOccupato when too many images wait already
   */
  reencode (bytes: Buffer<ArrayBuffer>, options: ReencodeOptions): Promise<Image>
}

declare module 'fastify' {
  interface FastifyInstance {
    images: Images
  }
}

const TASK = new URL('reencode.ts', import.meta.url)
/** With the time that it waits for others. */
const DEADLINE_MS = 45_000

const FAULTS: Readonly<Record<ImageFault, string>> = {
  format: 'non è un’immagine JPEG, PNG o WebP',
  damaged: 'è un’immagine danneggiata o incompleta',
  large: `è un’immagine troppo grande: al massimo ${PIXELS_MAX / 1e6} megapixel e ${SIDE_MAX} pixel per lato`,
  frames: 'è un’animazione: serve una sola immagine',
  complex: 'è un’immagine troppo complessa'
}

/** Images that strangers send, and what is kept of them. */
export default fp(async function images (app) {
  app.decorate('images', {
    async reencode (bytes, { campo, sideMax, caller, signal }) {
      // A small buffer is a part of a larger one that others use.
      const isWhole = bytes.byteLength === bytes.buffer.byteLength
      const made = await app.workers.run<typeof reencode>(TASK, { bytes, sideMax }, {
        caller,
        signal,
        deadlineMs: DEADLINE_MS,
        alone: true,
        transfer: isWhole ? [bytes.buffer] : []
      })
      if (made.fault !== null) throw new CampiNonValidi({ campo, messaggio: FAULTS[made.fault] })
      const { extensions: [extension], contentType } = IMAGE_FORMATS[made.format]
      const { buffer, byteOffset, byteLength } = made.bytes
      return { bytes: Buffer.from(buffer, byteOffset, byteLength), format: made.format, contentType, extension }
    }
  } satisfies Images)
}, { name: 'images', dependencies: ['workers'] })
