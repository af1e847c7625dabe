import { pipeline, Readable } from 'node:stream'
import { constants, createGzip, gzip, type ZlibOptions } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'

/** Smaller responses are not compressed, because compression would take more time than it saves. */
const MIN_BYTES = 8192
/** Paths whose responses are never compressed: the sign-in, and routes with a parameter, mostly single resources. */
const NEVER = /^\/auth\/|:/
const COMPRESSIBLE = /json|text(?!\/event-stream)|xml|javascript/
/** Matches when the client accepts gzip, and does not reject it with `q=0` (RFC 9110, 12.5.3). */
const TAKES_GZIP = /(?:^|[,\s])gzip\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:,|$)))/i
/** The fastest level reduces a list of bookings to a tenth. */
const OPTIONS: ZlibOptions = { level: constants.Z_BEST_SPEED }

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route reads a session cookie itself, as pages with access `public` do. */
    readsCookie?: boolean
  }
}

type Done = (err: Error | null, payload?: unknown) => void

/**
 * Compresses streams and other large responses, and discards the stream of a HEAD response.
 *
 * The size of a compressed response reveals content. With credentials that a browser sends by itself, a foreign page
 * could guess words and compare sizes (BREACH). So responses with tokens, and routes that read a session cookie, are
 * not compressed. Neither are single resources, because they are small, and `If-Match` needs their strong ETag.
 */
export default fp(async function compression (app) {
  app.addHook('onRoute', (route) => {
    const onSend = [route.onSend ?? []].flat()
    const { access, readsCookie = access === 'cookie' } = route.config ?? {}
    const isCompressed = !readsCookie && !NEVER.test(route.url)
    // Runs before Fastify's own hook, because that hook would read the whole stream and discard it.
    if (route.method === 'HEAD') route.onSend = [dropStream, ...onSend]
    else if (isCompressed) route.onSend = [...onSend, compress]
  })
}, { name: 'compression' })

function dropStream (_request: FastifyRequest, _reply: FastifyReply, payload: unknown, done: Done): void {
  if (!(payload instanceof Readable)) return done(null, payload)
  payload.on('error', () => {}).destroy()
  done(null, Readable.from([]))
}

function compress (request: FastifyRequest, reply: FastifyReply, payload: unknown, done: Done): void {
  const isStream = payload instanceof Readable
  const isLarge = isStream || ((typeof payload === 'string' || Buffer.isBuffer(payload)) && payload.length >= MIN_BYTES)
  if (!isLarge || request.method === 'HEAD' || !isCompressible(reply)) return done(null, payload)
  reply.header('vary', [reply.getHeader('vary') ?? [], 'Accept-Encoding'].flat().join(', '))
  if (!TAKES_GZIP.test(String(request.headers['accept-encoding'] ?? ''))) return done(null, payload)
  reply.removeHeader('content-length').header('content-encoding', 'gzip')
  // A weak ETag, because the compressed bytes differ (RFC 9110, 8.8.3.3).
  const tag = reply.getHeader('etag')
  if (tag !== undefined) reply.header('etag', String(tag).replace(/^(?!W\/)/, 'W/'))
  if (!isStream) return gzip(payload, OPTIONS, done)
  const zip = createGzip(OPTIONS)
  // Fastify reads the output and handles its errors.
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
