import fp from 'fastify-plugin'
import { IMAGE_FORMATS, type ImageExtension, type ImageFormat } from '#schemas/image.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import type { RunOptions } from '../workers/pool.ts'
import { PIXELS_MAX, SIDE_MAX } from './image-limits.ts'
import type { ImageFault, Opened } from './open.ts'
import type { Picture, Reencoded } from './reencode.ts'

const FAULTS: Readonly<Record<ImageFault, string>> = {
  format: 'non è un’immagine JPEG, PNG o WebP',
  damaged: 'è un’immagine danneggiata o incompleta',
  large: `è un’immagine troppo grande: al massimo ${PIXELS_MAX / 1e6} megapixel e ${SIDE_MAX} pixel per lato`,
  frames: 'è un’animazione: serve una sola immagine',
  complex: 'è un’immagine troppo complessa'
}

/** The 400 for an image that is not taken; `campo` is the field that it came in. */
function imageRefusal (campo: string, fault: ImageFault): CampiNonValidi {
  return new CampiNonValidi({ campo, messaggio: FAULTS[fault] })
}

/** An image as it is stored. */
export interface Image {
  bytes: Buffer
  format: ImageFormat
  contentType: string
  extension: ImageExtension
}

export interface MakeOptions extends Pick<RunOptions, 'caller' | 'signal'> {
  /** The field that the image came in, for the refusal. */
  campo: string
}
export interface ReencodeOptions extends MakeOptions, Pick<Picture, 'sideMax'> {}

export interface Images {
  /**
   * Makes an image that is safe to keep of bytes that a stranger sent: JPEG, PNG or WebP by their content, decoded and
   * encoded anew, upright and without metadata. The bytes may be handed over to a thread: they are empty afterwards.
   * @throws CampiNonValidi for anything that is not such an image
   * @throws ServizioOccupato when too many images wait already
   */
  reencode (bytes: Buffer<ArrayBuffer>, options: ReencodeOptions): Promise<Image>
  /**
   * Has something else made of such bytes, with the same refusals, by the task that is the default export of a module.
   * It opens them with `withImage`.
   */
  make<Payload extends { bytes: Uint8Array }, Made> (
    module: URL, payload: Payload & { bytes: Buffer<ArrayBuffer> }, options: MakeOptions
  ): Promise<Made>
}

declare module 'fastify' {
  interface FastifyInstance {
    images: Images
  }
}

const TASK = new URL('reencode.ts', import.meta.url)
/** With the time that it waits for others. */
const DEADLINE_MS = 45_000

/** Images that strangers send, and what is kept of them. */
export default fp(async function images (app) {
  async function make<Payload extends { bytes: Uint8Array }, Made> (
    module: URL, payload: Payload & { bytes: Buffer<ArrayBuffer> }, { campo, caller, signal }: MakeOptions
  ): Promise<Made> {
    const opened = await app.imageWorkers.run<(payload: Payload) => Promise<Opened<Made>>>(module, payload, {
      caller,
      signal,
      deadlineMs: DEADLINE_MS,
      transfer: transferable(payload.bytes)
    })
    if (opened.fault !== null) throw imageRefusal(campo, opened.fault)
    return opened.made
  }

  app.decorate('images', {
    make,
    async reencode (bytes, { sideMax, ...options }) {
      const made = await make<Picture, Reencoded>(TASK, { bytes, sideMax }, options)
      const { extensions: [extension], contentType } = IMAGE_FORMATS[made.format]
      const { buffer, byteOffset, byteLength } = made.bytes
      return { bytes: Buffer.from(buffer, byteOffset, byteLength), format: made.format, contentType, extension }
    }
  })
}, { name: 'images', dependencies: ['workers'] })

/** A small buffer is a part of a larger one that others use: it is copied. */
function transferable ({ buffer, byteLength }: Buffer<ArrayBuffer>): ArrayBuffer[] {
  return byteLength === buffer.byteLength ? [buffer] : []
}
