import { pipeline, Readable } from 'node:stream'
import { constants, createGzip, gzip, type ZlibOptions } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'

/** Bytes from which an answer is compressed: below, it costs more than it spares. */
const LARGE = 8192
/** Paths of the sign-in, and of single things. */
const NEVER = /^\/auth\/|:/
const COMPRESSIBLE = /json|text(?!\/event-stream)|xml|javascript/
/** Named, and not refused by `q=0` (RFC 9110, 12.5.3). */
const TAKES_GZIP = /(?:^|[,\s])gzip\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:,|$)))/i
/** A list of bookings becomes a tenth also by the fastest of the levels. */
const OPTIONS: ZlibOptions = { level: constants.Z_BEST_SPEED }

type Done = (err: Error | null, payload?: unknown) => void

/**
 * What happens to an answer on its way out: large ones are compressed, and HEAD reads no stream.
 *
 * The size of a compressed answer tells of its content. Where a browser sends its credentials by itself, a strange page
 * could try words and compare sizes (BREACH): answers to cookies are not compressed, nor those that carry tokens. Nor
 * is a single thing, whose path names it: it is small, and `If-Match` wants the tag of the bytes that they are.
 */
export default fp(async function payloads (app) {
  app.addHook('onRoute', (route) => {
    const onSend = [route.onSend ?? []].flat()
    const isCompressed = route.config?.access !== 'cookie' && !NEVER.test(route.url)
    // First, before Fastify's own hook, which would read the whole stream and throw it away.
    if (route.method === 'HEAD') route.onSend = [dropStream, ...onSend]
    else if (isCompressed) route.onSend = [...onSend, compress]
  })
}, { name: 'payloads' })

function dropStream (_request: FastifyRequest, _reply: FastifyReply, payload: unknown, done: Done): void {
  if (!(payload instanceof Readable)) return done(null, payload)
  payload.on('error', () => {}).destroy()
  done(null, Readable.from([]))
}

function compress (request: FastifyRequest, reply: FastifyReply, payload: unknown, done: Done): void {
  const isStream = payload instanceof Readable
  const isLarge = isStream || ((typeof payload === 'string' || Buffer.isBuffer(payload)) && payload.length >= LARGE)
  if (!isLarge || request.method === 'HEAD' || !isCompressible(reply)) return done(null, payload)
  reply.header('vary', [reply.getHeader('vary') ?? [], 'Accept-Encoding'].flat().join(', '))
  if (!TAKES_GZIP.test(String(request.headers['accept-encoding'] ?? ''))) return done(null, payload)
  reply.removeHeader('content-length').header('content-encoding', 'gzip')
  // The same content in other bytes (RFC 9110, 8.8.3.3).
  const tag = reply.getHeader('etag')
  if (tag !== undefined) reply.header('etag', String(tag).replace(/^(?!W\/)/, 'W/'))
  if (!isStream) return gzip(payload, OPTIONS, done)
  const zip = createGzip(OPTIONS)
  // Fastify, which reads the end of it, hears of a failure.
  pipeline(payload, zip, () => {})
  done(null, zip)
}

function isCompressible (reply: FastifyReply): boolean {
  return (
    reply.statusCode === 200 &&
    !reply.hasHeader('content-encoding') &&
    COMPRESSIBLE.test(String(reply.getHeader('content-type')))
  )
}
