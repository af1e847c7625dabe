import cors from '@fastify/cors'
import fp from 'fastify-plugin'
import helmet from 'helmet'
import { IncomingMessage, ServerResponse, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http'
import { Socket } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { FastifyInstance } from 'fastify'
import type { Config } from '#src/config/config.ts'
import { CampiNonValidi, ServizioOccupato } from '#src/lib/errors.ts'

/** Browsers keep what they were told of a route for two hours at most. */
const PREFLIGHT_KEPT_S = 7200

/**
 * Helmet's headers for a service without pages, worked out once: they are the same for every answer, and its plugin
 * would work them out anew for each, a twentieth of a small GET. Those that only concern pages are left out.
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
 * Response headers for an API that serves no pages, the list of foreign origins, and a refusal when the event loop is
 * behind.
 */
export default fp<{ config: Config }>(async function security (app, { config }) {
  const headers = securityHeaders(config.PUBLIC_URL.startsWith('https:'))
  app.addHook('onRequest', function secure (request, reply, done) {
    reply.headers(headers).header('x-request-id', request.id)
    forgetLongWishes(request.headers)
    done(hasOneHost(request.raw) ? undefined : new CampiNonValidi(HOST))
  })
  await app.register(cors, {
    origin: config.CORS_ORIGINS.length > 0 ? [...config.CORS_ORIGINS] : false,
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    credentials: true,
    // The strict refusal is plain text.
    strictPreflight: false,
    maxAge: PREFLIGHT_KEPT_S,
    exposedHeaders: [
      'ETag',
      'Link',
      'Location',
      'Idempotency-Replayed',
      'RateLimit',
      'RateLimit-Policy',
      'RateLimit-Limit',
      'RateLimit-Remaining',
      'RateLimit-Reset',
      'Retry-After',
      'WWW-Authenticate',
      'X-Total-Count',
      'X-Request-Id',
      'X-Alloggiati-Mode',
      'X-Supabase-Api-Version',
      'Content-Disposition',
      'Content-Range'
    ]
  })
  refuseWhenBehind(app, config.OVERLOAD_AFTER_MS)
}, { name: 'security' })

const HOST = { campo: 'Host', messaggio: 'deve esserci una volta sola' }

/**
 * A request with two hosts must be refused (RFC 9112, 3.2): Node.js keeps the first, a proxy may go by the last. So
 * must one without, but for HTTP before 1.1.
 */
function hasOneHost ({ httpVersion, rawHeaders = [] }: Pick<IncomingMessage, 'httpVersion' | 'rawHeaders'>): boolean {
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.length === 4 && name.toLowerCase() === 'host')
  return hosts.length === 1 || (hosts.length === 0 && httpVersion !== '1.1')
}

/** Characters of the names of headers that a page wants to send. */
const WISHES_MAX = 1000

/** They are repeated in the answer, for whose head proxies have little room: more of them is allowed to nobody. */
function forgetLongWishes (headers: IncomingHttpHeaders): void {
  const name = 'access-control-request-headers'
  if ((headers[name]?.length ?? 0) > WISHES_MAX) delete headers[name]
}

const RESOLUTION_MS = 10

declare module 'fastify' {
  interface FastifyInstance {
    /** How late the event loop was in the last sample, seconds. */
    eventLoopDelay (): number
  }
}

/**
 * Refuses requests while the event loop is behind by more than a limit, in milliseconds: the mean of a sample, which
 * takes as long as the limit. `@fastify/under-pressure`, which does so, looks at the memory as well, and for that Linux
 * opens a file: where no descriptor was left, that threw in its timer and ended the process.
 */
function refuseWhenBehind (app: FastifyInstance, limit: number): void {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delay.enable()
  let behindMs = 0
  app.decorate('eventLoopDelay', () => behindMs / 1000)
  const sampling = setInterval(() => {
    // Not a number in a sample in which the loop hardly came round: then it was behind for the whole of it.
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
