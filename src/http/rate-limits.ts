import rateLimit from '@fastify/rate-limit'
import findMyWay, { type HTTPMethod } from 'find-my-way'
import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Redis } from 'ioredis'
import { wantsPage } from '#src/lib/accept-headers.ts'
import { network } from '#src/lib/addresses.ts'
import type { Config } from '#src/config/config.ts'
import { MetodoNonAmmesso, RisorsaNonTrovata, TroppeRichieste } from '#src/lib/errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route is expensive (OCR, PDF generation). Such routes have a separate counter with a lower limit. */
    heavy?: boolean
  }
  interface FastifyInstance {
    /**
     * Throws 404 for an unknown path, and 405 with `Allow` for a known path with another method. Scopes that render
     * their own errors call it.
     */
    refuseUnknown: (request: FastifyRequest, reply: FastifyReply) => never
    /** Renders the error of an unknown URL for a browser. An area with pages sets `show`. */
    unknownPage: { show?: (err: FastifyError, request: FastifyRequest, reply: FastifyReply) => FastifyReply }
    /**
     * Counts a request that is rejected before hooks run, by client IP.
     * @throws TroppeRichieste
     */
    countBare: (request: FastifyRequest, reply: FastifyReply) => Promise<void>
  }
}

/** Timeout for Redis, during a request and at the start. */
const RESPONSE_MS = 500

/** A readable prefix, so that an operator sees which program writes these Redis keys. */
const PREFIX = 'locanda:requests:'
/** Maximum callers counted by one process, about 10 MB. Above it, the least recently active callers are dropped. */
const MAX_CALLERS = 50_000

const METHODS: readonly HTTPMethod[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

interface RateLimitsOptions {
  config: Config
  /** Timeout of Redis commands and connections, in milliseconds. */
  redisResponseMs?: number | undefined
}

/**
 * The rate limit per caller, or per client IP without valid credentials. Requests for unknown paths are counted too. A
 * wrong method on a known path is answered with a 405 that lists the allowed methods.
 */
export default fp<RateLimitsOptions>(async function rateLimits (app, { config, redisResponseMs = RESPONSE_MS }) {
  const redis = config.REDIS_URL === undefined ? undefined : await openRedis(app, config.REDIS_URL, redisResponseMs)
  await app.register(rateLimit, {
    max: ({ routeOptions }) => routeOptions.config.heavy ? config.RATE_LIMIT_HEAVY_MAX : config.RATE_LIMIT_MAX,
    timeWindow: config.RATE_LIMIT_WINDOW * 1000,
    hook: 'onRequest',
    enableDraftSpec: true,
    keyGenerator: callerKey,
    errorResponseBuilder: (_request, { ttl }) => new TroppeRichieste(Math.ceil(ttl / 1000)),
    cache: MAX_CALLERS,
    redis,
    nameSpace: PREFIX,
    // While Redis is unavailable, requests are not counted.
    skipOnError: true
  })

  const routes: { method: HTTPMethod, url: string }[] = []
  app.addHook('onRoute', ({ method, url }) => {
    for (const each of [method].flat()) routes.push({ method: each as HTTPMethod, url })
  })
  let router: ReturnType<typeof routerOf> | undefined

  // Counts before the body is read, as on every route. Hooks of the not-found handler run only after the body.
  const limit = app.rateLimit()
  app.addHook('onRequest', function limitUnknown (request, reply, done) {
    if (!request.is404) return done()
    limit.call(this, request, reply).then(() => done(), done)
  })

  app.decorate('countBare', async (request, reply) => { await limit.call(app, request, reply) })

  app.decorate('refuseUnknown', function refuseUnknown (request, reply) {
    const path = request.url.split('?', 1)[0]!
    // Built on first use, because it takes 9 of the 140 ms of a start (Node 24.21).
    router ??= routerOf(routes)
    const allowed = METHODS.filter((method) => router!.find(method, path) !== null)
    if (allowed.length === 0) throw new RisorsaNonTrovata()
    reply.header('allow', allowed.join(', '))
    throw new MetodoNonAmmesso()
  })
  app.decorate('unknownPage', {})
  app.setNotFoundHandler((request, reply) => {
    const { show } = app.unknownPage
    if (show === undefined || !wantsPage(request)) return app.refuseUnknown(request, reply)
    try {
      return app.refuseUnknown(request, reply)
    } catch (err) {
      return show(err as FastifyError, request, reply)
    }
  })
}, { name: 'rate-limits', dependencies: ['auth'] })

function routerOf (routes: readonly { method: HTTPMethod, url: string }[]) {
  const router = findMyWay()
  for (const { method, url } of routes) if (!router.hasRoute(method, url)) router.on(method, url, () => {})
  return router
}

/** The key of the caller's counter. All heavy routes share one more counter. */
function callerKey (request: FastifyRequest): string {
  const caller = request.principal?.id ?? `ip:${network(request.ip)}`
  return request.routeOptions.config.heavy ? `${caller} heavy` : caller
}

/**
 * Opens a Redis client that fails fast while Redis is unavailable. It logs when Redis becomes unavailable, and when it
 * is available again.
 */
async function openRedis (app: FastifyInstance, url: string, responseMs: number): Promise<Redis> {
  const { Redis } = await import('ioredis')
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: responseMs,
    // A Redis that hangs delays one request by this time. Then its connection is closed, and later requests do not
    // wait.
    socketTimeout: responseMs,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false
  })
  let isAway = false
  redis.on('error', (err) => {
    if (!isAway) app.log.warn({ err }, 'Redis is unavailable: requests are not counted')
    isAway = true
  })
  redis.on('ready', () => {
    if (isAway) app.log.info('Redis is available again: requests are counted')
    isAway = false
  })
  app.addHook('onClose', async () => redis.disconnect())
  // Added in `onReady`, because the metrics plugin is registered after this one.
  app.addHook('onReady', async () => app.addGauge({
    name: 'redis_up',
    help: '1 while Redis counts the requests, 0 while they are not counted.',
    read: async () => redis.status === 'ready' ? 1 : 0
  }))
  // Connects before the first request, so that it is counted. After a failure, which is logged, ioredis keeps trying.
  await redis.connect().catch(() => {})
  return redis
}
