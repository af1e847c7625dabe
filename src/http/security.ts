import cors from '@fastify/cors'
import fp from 'fastify-plugin'
import helmet from 'helmet'
import { IncomingMessage, ServerResponse, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http'
import { Socket } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { FastifyInstance } from 'fastify'
import { RESPONSE_HEADERS } from '#schemas/openapi/headers.ts'
import type { Config } from '#src/config/config.ts'
import { CampiNonValidi, ServizioOccupato } from '#src/lib/errors.ts'

/** Seconds that a browser may cache a preflight response. Chromium allows at most two hours. */
const PREFLIGHT_KEPT_S = 7200

/** Response headers that front ends on other origins may read. No script may read `Set-Cookie`. */
const EXPOSED = [
  'RateLimit', 'RateLimit-Policy', ...Object.keys(RESPONSE_HEADERS).filter((name) => name !== 'Set-Cookie')
]

/**
 * Helmet's headers for a service without pages. They are the same for every response, so they are computed once.
 * Helmet's plugin would compute them each time, which takes a twentieth of the time of a small GET. Headers that
 * concern only pages are left out.
 */
function securityHeaders (https: boolean): OutgoingHttpHeaders {
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  const set = helmet({
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    referrerPolicy: { policy: 'no-referrer' },
    strictTransportSecurity: https && { maxAge: 31_536_000 },
    crossOriginOpenerPolicy: false,
    originAgentCluster: false,
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xPermittedCrossDomainPolicies: false,
    xXssProtection: false
  })
  set(response.req, response, (err) => { if (err) throw err })
  return { ...response.getHeaders() }
}

/**
 * Sets the response headers of an API without pages, and allows the CORS origins of the settings. Rejects requests when
 * the event loop lags.
 */
export default fp<{ config: Config }>(async function security (app, { config }) {
  const headers = securityHeaders(config.PUBLIC_URL.startsWith('https:'))
  app.addHook('onRequest', function secure (request, reply, done) {
    reply.headers(headers).header('x-request-id', request.id)
    dropLongRequestedHeaders(request.headers)
    done(hasOneHost(request.raw) ? undefined : new CampiNonValidi(HOST))
  })
  await app.register(cors, {
    origin: config.CORS_ORIGINS.length > 0 ? [...config.CORS_ORIGINS] : false,
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    credentials: true,
    // The strict mode would respond to an invalid preflight in plain text.
    strictPreflight: false,
    maxAge: PREFLIGHT_KEPT_S,
    exposedHeaders: EXPOSED
  })
  refuseWhenBehind(app, config.OVERLOAD_AFTER_MS)
}, { name: 'security' })

const HOST = { campo: 'Host', messaggio: 'deve esserci una volta sola' }

/**
 * A request with two `Host` headers must be rejected (RFC 9112, 3.2): Node.js uses the first, but a proxy may use the
 * last. An HTTP/1.1 request without `Host` must be rejected too.
 */
function hasOneHost ({ httpVersion, rawHeaders = [] }: Pick<IncomingMessage, 'httpVersion' | 'rawHeaders'>): boolean {
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.length === 4 && name.toLowerCase() === 'host')
  return hosts.length === 1 || (hosts.length === 0 && httpVersion !== '1.1')
}

/** Maximum length of `Access-Control-Request-Headers`. */
const REQUESTED_HEADERS_MAX = 1000

/** Drops a value that is too long, because CORS repeats it in the response, and proxies have small header buffers. */
function dropLongRequestedHeaders (headers: IncomingHttpHeaders): void {
  const name = 'access-control-request-headers'
  if ((headers[name]?.length ?? 0) > REQUESTED_HEADERS_MAX) delete headers[name]
}

const RESOLUTION_MS = 10

declare module 'fastify' {
  interface FastifyInstance {
    /** Event loop lag of the last sample, in seconds. */
    eventLoopDelay (): number
  }
}

/**
 * Rejects requests while the mean event loop lag of a sample exceeds `limit` milliseconds. A sample lasts `limit`
 * milliseconds. `@fastify/under-pressure` is not used: it reads the memory usage, for which Linux opens a file. Without
 * free descriptors this threw in a timer and ended the process.
 */
function refuseWhenBehind (app: FastifyInstance, limit: number): void {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delay.enable()
  let behindMs = 0
  app.decorate('eventLoopDelay', () => behindMs / 1000)
  const sampling = setInterval(() => {
    // NaN when the loop hardly ran during the sample, so it lagged the whole time.
    behindMs = Number.isNaN(delay.mean) ? Infinity : Math.max(0, delay.mean / 1e6 - RESOLUTION_MS)
    delay.reset()
  }, limit).unref()
  app.addHook('onRequest', function refuse (_request, _reply, done) {
    done(behindMs > limit ? new ServizioOccupato() : undefined)
  })
  app.addHook('onClose', async () => {
    clearInterval(sampling)
    delay.disable()
  })
}
