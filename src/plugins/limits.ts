import rateLimit from '@fastify/rate-limit'
import findMyWay, { type HTTPMethod } from 'find-my-way'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { network } from '#src/lib/addresses.ts'
import type { Config } from '#src/config/config.ts'
import { MetodoNonAmmesso, RisorsaNonTrovata, TroppeRichieste } from '#src/lib/errors.ts'
import { within } from '#src/lib/within.ts'
import { requestCounts } from './request-counts.ts'

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

/** No request waits long for Redis. */
const ANSWER_MS = 500
/** The start does not wait longer for Redis. */
const START_MS = 2000

/** Beside the caller, in the key under which heavy work is counted. */
const HEAVY = ' heavy'

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
  const redis = config.REDIS_URL === undefined
    ? undefined
    : new (await import('ioredis')).Redis(config.REDIS_URL, {
      lazyConnect: true,
      connectTimeout: redisAnswerMs,
      commandTimeout: redisAnswerMs,
      maxRetriesPerRequest: 1,
      enableOfflineQueue: false
    })
  const { store, isRedisAway } = requestCounts(redis, app.log)
  if (redis) {
    app.addHook('onClose', async () => redis.disconnect())
    // The first request is counted there, too. A failure is logged, and connecting goes on.
    await within(START_MS, redis.connect().catch(() => {}))
    // The metrics are registered later: their own route is counted, too.
    app.addHook('onReady', async () => app.addGauge({
      name: 'redis_up',
      help: '1 while Redis counts the requests, 0 while each process counts alone.',
      read: async () => isRedisAway() ? 0 : 1
    }))
  }

  app.addHook('onRoute', (route) => {
    if (!route.config?.heavy) return
    route.config = { ...route.config, rateLimit: { max: config.RATE_LIMIT_HEAVY_MAX, groupId: HEAVY } }
  })
  await app.register(rateLimit, {
    max: config.RATE_LIMIT_MAX,
    timeWindow: config.RATE_LIMIT_WINDOW * 1000,
    hook: 'onRequest',
    enableDraftSpec: true,
    keyGenerator: callerKey,
    errorResponseBuilder: (_request, { ttl }) => new TroppeRichieste(Math.ceil(ttl / 1000)),
    store
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

function callerKey (request: FastifyRequest): string {
  return request.principal?.id ?? `ip:${network(request.ip)}`
}
