import fp from 'fastify-plugin'
import {
  IMAGE_FORMATS, SOURCE_WORDS, type ImageExtension, type ImageFormat, type SourceFormat
} from '#schemas/image.ts'
import type { Config } from '#src/config/config.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { LavoroNonRiuscito } from '../workers/errors.ts'
import type { RunOptions, Workers } from '../workers/pool.ts'
import type { CopiedJpeg } from './copy-jpeg.ts'
import { PIXELS_MAX } from './image-limits.ts'
import type { ImageFault, Opened } from './decode-image.ts'
import { ImmagineTroppoGrande } from './errors.ts'
import type { Picture, Reencoded } from './reencode.ts'

const FAULTS: Readonly<Record<ImageFault, string>> = {
  format: `non è un’immagine ${SOURCE_WORDS}`,
  damaged: 'è un’immagine danneggiata o incompleta',
  frames: 'è un’animazione, o ha più immagini: serve una sola immagine',
  complex: 'è un’immagine troppo complessa',
  pdf: `è un PDF: serve una pagina sola, con una sola immagine di al massimo ${PIXELS_MAX / 1e6} megapixel`
}

/** An image that is safe to store. */
export interface Image {
  bytes: Buffer
  format: ImageFormat
  /** The format that was sent. */
  source: SourceFormat
  contentType: string
  extension: ImageExtension
}

interface MakeOptions extends Pick<RunOptions, 'caller' | 'signal'> {
  /** The field that contains the image, for errors. */
  campo: string
}
interface ReencodeOptions extends MakeOptions, Partial<Pick<Picture, 'sideMax'>> {}

export interface Images {
  /**
   * Re-encodes an untrusted image so that it is safe to store. It detects the format by content, and returns the image
   * upright, without metadata, and with no side above `IMAGE_SIDE_MAX`. The bytes may be transferred to a thread, which
   * empties the buffer.
   * @throws CampiNonValidi for anything else, ImmagineTroppoGrande (413)
   * @throws ServizioOccupato when too many images are queued, LavoroTroppoLungo past the deadline
   */
  reencode (bytes: Buffer<ArrayBuffer>, options: ReencodeOptions): Promise<Image>
  /** Like `reencode`, but keeps the picture data of a JPEG that can be shown as it is. See `copyJpeg`. */
  copy (bytes: Buffer<ArrayBuffer>, options: MakeOptions): Promise<Image>
  /**
   * Runs another task on untrusted image bytes, with the same errors. The task is the default export of a module, and
   * opens the bytes with `withImage`.
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

const REENCODE = new URL('reencode.ts', import.meta.url)
const COPY = new URL('copy-jpeg.ts', import.meta.url)
/** Longer than the decoder's own timeout. */
const DEADLINE_MS = 30_000

/** Processes untrusted images. */
export default fp<{ config: Pick<Config, 'IMAGE_SIDE_MAX'> }>(async function images (app, { config }) {
  async function run<Payload, Result> (
    pool: Workers, module: URL, payload: Payload & { bytes: Buffer<ArrayBuffer> },
    { campo, caller, signal }: MakeOptions
  ): Promise<Result> {
    const options = { caller, signal, deadlineMs: DEADLINE_MS, transfer: transferable(payload.bytes) }
    return await pool.run<(payload: Payload) => Promise<Result>>(module, payload, options).catch((err: unknown) => {
      // The image needs too much memory, so a retry would fail too.
      if (err instanceof LavoroNonRiuscito) throw new CampiNonValidi({ campo, messaggio: FAULTS.complex })
      throw err
    })
  }

  async function make<Payload extends { bytes: Uint8Array }, Made> (
    module: URL, payload: Payload & { bytes: Buffer<ArrayBuffer> }, options: MakeOptions
  ): Promise<Made> {
    const opened = await run<Payload, Opened<Made>>(app.imageWorkers, module, payload, options)
    if (opened.fault === null) return opened.made
    if (opened.fault === 'large') throw new ImmagineTroppoGrande(String(opened.width), String(opened.height))
    throw new CampiNonValidi({ campo: options.campo, messaggio: FAULTS[opened.fault] })
  }

  async function reencode (
    bytes: Buffer<ArrayBuffer>, { sideMax: own = Infinity, ...options }: ReencodeOptions
  ): Promise<Image> {
    const sideMax = Math.min(own, config.IMAGE_SIDE_MAX)
    return imageOf(await make<Picture, Reencoded>(REENCODE, { bytes, sideMax }, options))
  }

  app.decorate('images', {
    make,
    reencode,
    async copy (bytes, options) {
      if (bytes[0] !== 0xff || bytes[1] !== 0xd8) return await reencode(bytes, options)
      const payload = { bytes, sideMax: config.IMAGE_SIDE_MAX }
      const copied = await run<Picture, CopiedJpeg>(app.copyWorkers, COPY, payload, options)
      if (copied.isCopied) return imageOf({ bytes: copied.bytes, format: 'jpeg', source: 'jpeg' })
      return await reencode(bufferOf(copied.bytes), options)
    }
  })
}, { name: 'images', dependencies: ['workers'] })

function imageOf ({ bytes, format, source }: Reencoded): Image {
  const { extensions: [extension], contentType } = IMAGE_FORMATS[format]
  return { bytes: bufferOf(bytes), format, source, contentType, extension }
}

function bufferOf ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer<ArrayBuffer> {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength)
}

/** Small buffers share memory with others, so they are copied. */
function transferable ({ buffer, byteLength }: Buffer<ArrayBuffer>): ArrayBuffer[] {
  return byteLength === buffer.byteLength ? [buffer] : []
}
