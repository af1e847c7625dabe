import { isUtf8 } from 'node:buffer'
import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { FILE_BYTES_MAX, METADATA_MAX } from '#schemas/storage-upload.ts'
import type { BucketRow } from '../buckets.ts'
import { StorageError } from './errors.ts'
import { essenceOf, isMediaType } from './media-types.ts'

/** An incoming file whose content is still arriving. */
interface ReceivedFile {
  content: Readable | Buffer
  contentType: string
  cacheControl: string | undefined
  metadata: Record<string, unknown> | undefined
}

const CACHE_CONTROL = /^[a-z0-9=," -]{1,100}$/i
const SECONDS = /^\d{1,9}$/
/** Maximum bytes of a field. Enough to detect too many characters, because UTF-8 has up to four bytes for each. */
const FIELD_BYTES = 4 * METADATA_MAX
/** A form has one part with the file, and fields of the official clients. */
const FORM_LIMITS = { files: 1, fields: 10, parts: 11, fieldNameSize: 100, fieldSize: FIELD_BYTES, headerPairs: 20 }

/** The maximum size of a file in the bucket, in bytes. */
export function fileLimit ({ file_size_limit: own }: BucketRow): number {
  return Math.min(own ?? FILE_BYTES_MAX, FILE_BYTES_MAX)
}

/** The file in a request, as raw bytes or in a form. Its content is not read yet. @throws StorageError */
export async function receive (request: FastifyRequest, bucket: BucketRow): Promise<ReceivedFile> {
  const received = request.isMultipart() ? await fromForm(request) : fromBytes(request, bucket)
  checkType(received.contentType, bucket)
  return received
}

function fromBytes (request: FastifyRequest, bucket: BucketRow): ReceivedFile {
  const { headers } = request
  // If `Content-Length` is too large, the body is not read.
  if (Number(headers['content-length']) > fileLimit(bucket)) throw new StorageError('EntityTooLarge')
  const metadata = headers['x-metadata']
  return {
    content: request.body instanceof Readable ? shielded(request.body) : Buffer.alloc(0),
    contentType: headers['content-type'] ?? 'application/octet-stream',
    cacheControl: cachingOf(headers['cache-control']),
    metadata: metadataOfHeader(metadata)
  }
}

/** The client's metadata for a file, in `X-Metadata`. @throws StorageError */
export function metadataOfHeader (header: string | string[] | undefined): Record<string, unknown> | undefined {
  return typeof header === 'string' ? metadataOf(header, fromBase64) : undefined
}

async function fromForm (request: FastifyRequest): Promise<ReceivedFile> {
  const part = await request.file({ limits: { ...FORM_LIMITS, fileSize: FILE_BYTES_MAX + 1 } })
  if (part === undefined) throw new StorageError('InvalidRequest', 'No content provided')
  const field = (name: string) => {
    const found = Object.hasOwn(part.fields, name) ? part.fields[name] : undefined
    return found !== undefined && !Array.isArray(found) && found.type === 'field' && typeof found.value === 'string'
      ? found.value
      : undefined
  }
  const [seconds, metadata] = [field('cacheControl'), field('metadata') ?? field('userMetadata')]
  return {
    content: part.file,
    contentType: field('contentType') ?? part.mimetype,
    cacheControl: seconds === undefined ? undefined : cachingOf(SECONDS.test(seconds) ? `max-age=${seconds}` : seconds),
    metadata: metadata === undefined ? undefined : metadataOf(metadata, fromField)
  }
}

/**
 * Wraps the body in a separate stream. If that stream is abandoned, the connection stays open for the error response.
 */
function shielded (body: Readable): Readable {
  const content = Readable.from(body.iterator({ destroyOnReturn: false }), { objectMode: false })
  // An abandoned reader removes its listeners. If the client then disconnects before the response, an error of this
  // stream would have no listener, and would end the process.
  return content.on('error', () => {})
}

/** @throws StorageError for a text that is not a media type, or a type that the bucket does not allow */
export function checkType (contentType: string, { allowed_mime_types: allowed }: BucketRow): void {
  if (!isMediaType(contentType)) throw new StorageError('InvalidMimeType', 'Invalid Content-Type header')
  const essence = essenceOf(contentType)
  const isAllowed = allowed === null || allowed.length === 0 || allowed.map(essenceOf).some((pattern) => {
    const isRange = pattern.endsWith('/*') && essence.startsWith(pattern.slice(0, -1))
    return isRange || pattern === essence || pattern === '*/*' || pattern === '*'
  })
  if (!isAllowed) throw new StorageError('InvalidMimeType', `mime type ${essence} is not supported`)
}

/** Checks the characters of `Cache-Control`, because downloads send it again. @throws StorageError InvalidRequest */
export function cachingOf (text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  if (!CACHE_CONTROL.test(text)) throw new StorageError('InvalidRequest', 'Invalid Cache-Control header')
  return text
}

/** PostgreSQL stores neither U+0000 nor lone surrogates. */
function storable (key: string, value: unknown): unknown {
  for (const text of [key, value]) {
    if (typeof text === 'string' && (text.includes('\0') || !text.isWellFormed())) throw new SyntaxError('not text')
  }
  return value
}

/** @throws StorageError for bytes that are not UTF-8 */
function fromBase64 (text: string): string {
  const bytes = Buffer.from(text, 'base64')
  return isUtf8(bytes) ? bytes.toString() : refuseBytes()
}

/** The form parser replaces bytes that are not UTF-8 with U+FFFD. @throws StorageError */
function fromField (text: string): string {
  return text.includes('\ufffd') ? refuseBytes() : text
}

function refuseBytes (): never {
  throw new StorageError('InvalidRequest', 'Metadata must be UTF-8')
}

function metadataOf (text: string, decode: (text: string) => string): Record<string, unknown> {
  if (text.length > METADATA_MAX) {
    throw new StorageError('EntityTooLarge', 'The user_metadata exceeded the maximum allowed size')
  }
  const json = decode(text)
  let value: unknown
  try {
    value = JSON.parse(json, storable)
  } catch {
    value = undefined
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new StorageError('InvalidRequest', 'Metadata must be a JSON object')
  }
  return value as Record<string, unknown>
}
