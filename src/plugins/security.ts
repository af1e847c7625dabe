import cors from '@fastify/cors'
import underPressure from '@fastify/under-pressure'
import fp from 'fastify-plugin'
import helmet from 'helmet'
import { IncomingMessage, ServerResponse, type OutgoingHttpHeaders } from 'node:http'
import { Socket } from 'node:net'
import type { Config } from '#src/config/config.ts'

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
    done()
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
  // A sample in which the event loop hardly came round counts as an endless delay: none is shorter than the limit.
  const { OVERLOAD_AFTER_MS: limit } = config
  await app.register(underPressure, { maxEventLoopDelay: limit, sampleInterval: limit, retryAfter: 5 })
}, { name: 'security' })
