import { finished, Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import createError from '@fastify/error'
import { contentDisposition } from '#src/lib/content-disposition.ts'
import { isKnown } from '#src/lib/etag.ts'
import { readRange, type ByteRange } from '#src/lib/ranges.ts'
import { destroyWhenStalled } from '#src/lib/destroy-when-stalled.ts'
import { limitConcurrencyByCaller } from '#src/lib/concurrency-limit.ts'
import { DOCUMENTS } from '#schemas/storage.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { STALLED_AFTER_MS, type StreamOptions } from './streams.ts'
import type { StoredFile } from '#src/services/files/file-service.ts'

const IntervalloNonValido = createError(
  'INTERVALLO_NON_VALIDO',
  'L’intervallo di byte chiesto è oltre la fine del file',
  416
)

/**
 * Concurrent downloads in total and per caller. Callers without credentials have a separate pool of the same size. Each
 * download keeps a file open until the client has read the file.
 */
const CONCURRENCY = { total: 96, perCaller: 16 }

/** Types that a browser can show without running code. SVG and HTML are not among them. */
const SHOWN = new Set(['image/jpeg', 'image/png', 'image/webp', 'image/gif', 'image/avif', 'application/pdf'])

/** A file opened as a page must not run or load anything. PDF viewers do not start in a sandbox. */
const POLICY = "default-src 'none';frame-ancestors 'none';sandbox"
const PDF_POLICY = "default-src 'none';frame-ancestors 'none';style-src 'unsafe-inline';object-src 'self'"

interface SendOptions {
  /** Sends the file as attachment with this name, or with the object's own name when `''`. */
  download?: string | undefined
  /** Whether the URL itself grants access, even to pages of other origins. */
  isLinked?: boolean
  /** Whether the link is signed. Such downloads have a separate concurrency limit. */
  isSigned?: boolean
  /** `Cache-Control` of a public file. */
  cacheControl?: string | undefined
  /** The actor in the audit log when the request has no credentials: the issuer of the link. */
  reader?: string | undefined
  /** The original, when the object is a rendition of it. Its name is sent, and the audit log records its reading. */
  original?: StoredFile
  /** Content that is sent instead, and is not stored. */
  content?: Buffer | undefined
}

declare module 'fastify' {
  interface FastifyReply {
    /**
     * Sends a stored file, the requested range, or a 304. Its ETag is the object's id, because new content has a new
     * id. Clients that stop reading are disconnected. Before an image of a guest's document is sent, the audit log
     * records the access.
     * @throws IntervalloNonValido (416), ServizioOccupato (503), RegistroNonDisponibile (503), FileIlleggibile (500)
     */
    sendObject (object: StoredFile, options?: SendOptions): Promise<FastifyReply>
  }
}

/** Sends stored files as responses. */
export default fp<StreamOptions>(async function downloads (app, { stalledReaderMs = STALLED_AFTER_MS }) {
  const acquireSlot = limitConcurrencyByCaller(CONCURRENCY)
  const acquireSignedSlot = limitConcurrencyByCaller(CONCURRENCY)

  async function recordReading (request: FastifyRequest, { id, bucket, name }: StoredFile, reader: string | undefined) {
    const author = authorOf(request)
    await app.audit.append(app.db, {
      ...author,
      actor: reader ?? author.actor,
      action: 'documento_letto',
      object: `file:${id}`,
      details: { file: `${bucket}/${name}`, ...reader !== undefined && { link: true } }
    })
  }

  app.decorateReply('sendObject', async function sendObject (object, options = {}) {
    const { request, raw } = this
    const tag = `"${object.id}"`
    const modified = object.updated_at.toUTCString()
    const cached = { etag: tag, 'last-modified': modified, 'cache-control': options.cacheControl ?? 'no-store' }
    if (isUnchanged(request, tag, object)) return this.headers(cached).code(304).send()

    const isHead = request.method === 'HEAD'
    const range = isHead ? undefined : rangeOf(request, tag, modified, object.size)
    if (range === 'unsatisfiable') {
      this.header('content-range', `bytes */${object.size}`)
      throw new IntervalloNonValido()
    }
    const content = isHead ? Readable.from([]) : await open(request, object, range, options.content)
    if (!isHead) destroyWhenStalled(raw, stalledReaderMs)
    if (range) this.code(206).header('content-range', `bytes ${range.start}-${range.end}/${object.size}`)
    return this.headers({
      ...cached,
      ...presentation(object, options),
      'accept-ranges': 'bytes',
      'content-length': range ? range.end - range.start + 1 : object.size,
      'x-robots-tag': 'none'
    }).send(content)

    async function open (
      request: FastifyRequest, object: StoredFile, range: ByteRange | undefined, content: Buffer | undefined
    ) {
      // Even a range of a few bytes keeps a file open.
      finished(raw, await (options.isSigned ? acquireSignedSlot : acquireSlot)(request))
      const source = options.original ?? object
      if (source.bucket === DOCUMENTS) await recordReading(request, source, options.reader)
      if (content) return Readable.from([content.subarray(range?.start, range && range.end + 1)])
      return await app.files.read(object, range)
    }
  })
}, { name: 'downloads', dependencies: ['files', 'audit'] })

function isUnchanged ({ headers }: FastifyRequest, tag: string, { updated_at: changed }: StoredFile): boolean {
  if (headers['if-none-match'] !== undefined) return isKnown(headers['if-none-match'], tag)
  const since = Date.parse(headers['if-modified-since'] ?? '')
  return Math.floor(changed.getTime() / 1000) * 1000 <= since
}

/** If the file has changed since `If-Range`, the whole file is sent (RFC 9110, 13.1.5). */
function rangeOf ({ headers }: FastifyRequest, tag: string, modified: string, size: number) {
  const ifRange = headers['if-range']
  return ifRange === undefined || ifRange === tag || ifRange === modified ? readRange(headers.range, size) : undefined
}

function presentation (object: StoredFile, { download, original = object, isLinked = false }: SendOptions) {
  const { content_type: type } = object
  const essence = type.split(';', 1)[0]!.trim().toLowerCase()
  const isShown = SHOWN.has(essence) && download === undefined
  return {
    'content-type': type,
    'content-disposition': contentDisposition(
      isShown ? 'inline' : 'attachment', download || original.name.split('/').at(-1)!
    ),
    'content-security-policy': essence === 'application/pdf' ? PDF_POLICY : POLICY,
    'cross-origin-resource-policy': isLinked ? 'cross-origin' : 'same-origin',
    'x-content-type-options': 'nosniff'
  }
}
