import cors from '@fastify/cors'
import helmet from '@fastify/helmet'
import underPressure from '@fastify/under-pressure'
import fp from 'fastify-plugin'
import type { Config } from '#src/config.ts'

/** Response headers for an API that serves no pages, the list of foreign origins, and a refusal when the event loop is behind. */
export default fp<{ config: Config }>(async function security (app, { config }) {
  await app.register(helmet, {
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    referrerPolicy: { policy: 'no-referrer' },
    strictTransportSecurity: config.PUBLIC_URL?.startsWith('https:') ? { maxAge: 31_536_000 } : false
  })
  await app.register(cors, {
    origin: config.CORS_ORIGINS.length > 0 ? [...config.CORS_ORIGINS] : false,
    credentials: true,
    exposedHeaders: ['ETag', 'Link', 'Retry-After', 'X-Total-Count', 'X-Request-Id', 'X-Alloggiati-Mode']
  })
  app.addHook('onRequest', function nameRequest (request, reply, done) {
    reply.header('x-request-id', request.id)
    done()
  })
  await app.register(underPressure, { maxEventLoopDelay: 2000, retryAfter: 5 })
}, { name: 'security' })
