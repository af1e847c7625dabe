import { buffer } from 'node:stream/consumers'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { IMAGE_FORMATS } from '#schemas/image.ts'
import { RENDITIONS } from '#schemas/storage.ts'
import { network } from '#src/lib/addresses.ts'
import { fairQueue } from '#src/lib/concurrency-limit.ts'
import { CampiNonValidi, SpazioEsaurito } from '#src/lib/errors.ts'
import { disconnectSignal } from '#src/http/client-disconnects.ts'
import { ArchivioPieno } from '#src/services/files/errors.ts'
import type { StoredFile, WrittenFile } from '#src/services/files/file-service.ts'
import { ImmagineTroppoGrande } from '#src/services/images/errors.ts'
import { lockFile } from './object-rows.ts'
import { StorageError } from './protocol/errors.ts'
import type { Rendered, RenderJob } from './render-image.ts'
import { describeRendering, type Rendering } from './transforms.ts'

const TASK = new URL('render-image.ts', import.meta.url)
/** Maximum bytes of an image to render. */
const SOURCE_BYTES_MAX = 20 * 1024 * 1024
/** Maximum stored renditions of one image. A further one replaces the oldest. */
const KEPT_MAX = 20
/** Only one image at a time is in memory. A page may request many thumbnails, so callers take turns. */
const QUEUE = { slots: 1, waiting: 256, waitMs: 30_000 }

/** A rendition to send. `content` is set if it could not be stored. */
interface Rendition { file: StoredFile, content?: Buffer }

/**
 * Images in other sizes and formats, rendered on the first request and stored as files. When an image is replaced,
 * moved or deleted, a trigger discards its renditions in the same transaction.
 */
export function createRenditions ({ db, files, images }: Pick<FastifyInstance, 'db' | 'files' | 'images'>) {
  const queue = fairQueue(QUEUE)

  async function find (image: StoredFile, rendering: Rendering): Promise<Rendition | undefined> {
    const file = await files.find(db, RENDITIONS, `${image.id}/${describeRendering(rendering)}`)
    return file && { file }
  }

  /** @throws StorageError InvalidRequest for a file that is not an image, or too large */
  async function make (
    image: StoredFile, rendering: Rendering, caller: string, signal: AbortSignal
  ): Promise<{ content: Buffer, contentType: string }> {
    if (image.size > SOURCE_BYTES_MAX) {
      throw new StorageError('InvalidRequest', 'The source image file is too large to process')
    }
    const bytes = await buffer(await files.read(image))
    try {
      const { bytes: made, format } = await images.make<RenderJob, Rendered>(
        TASK, { bytes, rendering }, { campo: 'file', caller, signal }
      )
      const contentType = format === 'avif' ? 'image/avif' : IMAGE_FORMATS[format].contentType
      return { content: Buffer.from(made.buffer, made.byteOffset, made.byteLength), contentType }
    } catch (err) {
      if (!(err instanceof CampiNonValidi || err instanceof ImmagineTroppoGrande)) throw err
      throw new StorageError('InvalidRequest', 'The source image is invalid or unsupported for rendering')
    }
  }

  /** Undefined if the image was replaced or deleted meanwhile. */
  async function keep (image: StoredFile, written: WrittenFile): Promise<StoredFile | undefined> {
    return await db.transaction(async (tx) => {
      if (!await lockFile(tx, image.id)) return undefined
      const others = await files.findByPrefix(tx, RENDITIONS, `${image.id}/`)
      const oldestFirst = others.sort((one, other) => one.created_at.getTime() - other.created_at.getTime())
      await files.discard(tx, oldestFirst.slice(0, Math.max(0, others.length - KEPT_MAX + 1)))
      return await files.keep(tx, written, { replace: true })
    })
  }

  async function render (
    image: StoredFile, rendering: Rendering, caller: string, signal: AbortSignal
  ): Promise<Rendition> {
    const { content, contentType } = await make(image, rendering, caller, signal)
    const place = { bucket: RENDITIONS, name: `${image.id}/${describeRendering(rendering)}`, owner: null, contentType }
    let written: WrittenFile
    try {
      written = await files.write(content, place, content.length)
    } catch (err) {
      if (!(err instanceof ArchivioPieno || err instanceof SpazioEsaurito)) throw err
      return { file: { ...image, content_type: contentType, size: content.length }, content }
    }
    const file = await files.settle(written, async () => {
      const kept = await keep(image, written)
      if (!kept) throw new StorageError('NoSuchKey')
      return kept
    })
    return { file }
  }

  return {
    /** @throws StorageError, ServizioOccupato and errors of the worker pool (503) */
    async get (
      request: FastifyRequest, reply: FastifyReply, image: StoredFile, rendering: Rendering
    ): Promise<Rendition> {
      const found = await find(image, rendering)
      if (found) return found
      const caller = request.principal?.id ?? network(request.ip)
      const signal = disconnectSignal(reply)
      const leave = await queue.take(caller, [signal])
      try {
        // Another request may have made it meanwhile.
        return await find(image, rendering) ?? await render(image, rendering, caller, signal)
      } finally {
        leave()
      }
    }
  }
}
