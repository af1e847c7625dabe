import rateLimit from '@fastify/rate-limit'
import findMyWay, { type HTTPMethod } from 'find-my-way'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Redis } from 'ioredis'
import { network } from '#src/lib/addresses.ts'
import type { Config } from '#src/config/config.ts'
import { MetodoNonAmmesso, RisorsaNonTrovata, TroppeRichieste } from '#src/lib/errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Reading texts of images and making PDFs are heavy work, which is counted apart, with a lower limit. */
    heavy?: boolean
  }
  interface FastifyInstance {
    /**
     * Refuses an address that is none, and a method that a known one has not, with the right ones in `Allow`: for
     * scopes that write their errors themselves.
     */
    refuseUnknown: (request: FastifyRequest, reply: FastifyReply) => never
    /**
     * Counts a request that meets no hook, by its address.
     * @throws TroppeRichieste
     */
    countBare: (request: FastifyRequest, reply: FastifyReply) => Promise<void>
  }
}

/** Neither a request nor the start waits longer for Redis. */
const ANSWER_MS = 500

/** Readable, so that an operator who lists the keys of Redis sees which program they belong to. */
const PREFIX = 'locanda:requests:'
/** Callers that one process counts, about 10 MB. Beyond it the least recent ones are dropped. */
const MOST_CALLERS = 50_000

const METHODS: readonly HTTPMethod[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

export interface LimitsOptions {
  config: Config
  /** How long Redis has for an answer, and for a connection, milliseconds. */
  redisAnswerMs?: number | undefined
}

/**
 * The rate limit, per caller or, without valid credentials, per address; unknown addresses are counted too.
 * A known path with the wrong method is a 405 that lists the right ones.
 */
export default fp<LimitsOptions>(async function limits (app, { config, redisAnswerMs = ANSWER_MS }) {
  const redis = config.REDIS_URL === undefined ? undefined : await openRedis(app, config.REDIS_URL, redisAnswerMs)
  await app.register(rateLimit, {
    max: ({ routeOptions }) => routeOptions.config.heavy ? config.RATE_LIMIT_HEAVY_MAX : config.RATE_LIMIT_MAX,
    timeWindow: config.RATE_LIMIT_WINDOW * 1000,
    hook: 'onRequest',
    enableDraftSpec: true,
    keyGenerator: callerKey,
    errorResponseBuilder: (_request, { ttl }) => new TroppeRichieste(Math.ceil(ttl / 1000)),
    cache: MOST_CALLERS,
    redis,
    nameSpace: PREFIX,
    // Requests pass uncounted while Redis is away.
    skipOnError: true
  })

  const routes: { method: HTTPMethod, url: string }[] = []
  app.addHook('onRoute', ({ method, url }) => {
    for (const each of [method].flat()) routes.push({ method: each as HTTPMethod, url })
  })
  let router: ReturnType<typeof routerOf> | undefined

  // Counted before the body is read, as on every route: the hooks that a not-found handler can have of its own come
  // after that.
  const limit = app.rateLimit()
  app.addHook('onRequest', function limitUnknown (request, reply, done) {
    if (!request.is404) return done()
    limit.call(this, request, reply).then(() => done(), done)
  })

  app.decorate('countBare', async (request, reply) => { await limit.call(app, request, reply) })

  app.decorate('refuseUnknown', function refuseUnknown (request, reply) {
    const path = request.url.split('?', 1)[0]!
    // Made when it is first asked: 9 of the 140 ms of a start (Node 24.21).
    router ??= routerOf(routes)
    const allowed = METHODS.filter((method) => router!.find(method, path) !== null)
    if (allowed.length === 0) throw new RisorsaNonTrovata()
    reply.header('allow', allowed.join(', '))
    throw new MetodoNonAmmesso()
  })
  app.setNotFoundHandler(app.refuseUnknown)
}, { name: 'limits', dependencies: ['auth'] })

function routerOf (routes: readonly { method: HTTPMethod, url: string }[]) {
  const router = findMyWay()
  for (const { method, url } of routes) if (!router.hasRoute(method, url)) router.on(method, url, () => {})
  return router
}

/** Heavy work of a caller has a count of its own, over all its routes. */
function callerKey (request: FastifyRequest): string {
  const caller = request.principal?.id ?? `ip:${network(request.ip)}`
  return request.routeOptions.config.heavy ? `${caller} heavy` : caller
}

/** A client of Redis that fails at once while Redis is away; the log is told when it goes and when it comes back. */
async function openRedis (app: FastifyInstance, url: string, answerMs: number): Promise<Redis> {
  const { Redis } = await import('ioredis')
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: answerMs,
    // A Redis that hangs costs one request this time: then its connection is closed, and further requests fail at once.
    socketTimeout: answerMs,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false
  })
  let isAway = false
  redis.on('error', (err) => {
    if (!isAway) app.log.warn({ err }, 'Redis is away: requests are not counted')
    isAway = true
  })
  redis.on('ready', () => {
    if (isAway) app.log.info('Redis is back: requests are counted')
    isAway = false
  })
  app.addHook('onClose', async () => redis.disconnect())
  // The metrics are registered later: their own route is counted, too.
  app.addHook('onReady', async () => app.addGauge({
    name: 'redis_up',
    help: '1 while Redis counts the requests, 0 while they are not counted.',
    read: async () => redis.status === 'ready' ? 1 : 0
  }))
  // The first request is counted, too. A failure is logged, and connecting goes on.
  await redis.connect().catch(() => {})
  return redis
}
