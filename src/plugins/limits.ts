import { isIPv6 } from 'node:net'
import rateLimit from '@fastify/rate-limit'
import findMyWay, { type HTTPMethod } from 'find-my-way'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '#src/config.ts'
import { MetodoNonAmmesso, RisorsaNonTrovata, TroppeRichieste } from '#src/errors.ts'

const METHODS: readonly HTTPMethod[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/**
 * The rate limit, per caller or, without valid credentials, per address; unknown addresses are counted too.
 * A known path with the wrong method is a 405 that lists the right ones.
 */
export default fp<{ config: Config }>(async function limits (app, { config }) {
  const redis = config.REDIS_URL === undefined ? undefined : await connectRedis(config.REDIS_URL)
  if (redis) app.addHook('onClose', async () => redis.disconnect())

  await app.register(rateLimit, {
    max: config.RATE_LIMIT_MAX,
    timeWindow: config.RATE_LIMIT_WINDOW * 1000,
    hook: 'onRequest',
    enableDraftSpec: true,
    keyGenerator: callerKey,
    errorResponseBuilder: (_request, { ttl }) => new TroppeRichieste(Math.ceil(ttl / 1000)),
    // The counters are a courtesy, not a guard: with Redis gone the server goes on.
    ...(redis ? { redis, nameSpace: 'locanda-rl-', skipOnError: true } : {})
  })

  const known = findMyWay()
  app.addHook('onRoute', ({ method, url }) => {
    for (const each of [method].flat()) {
      if (!known.hasRoute(each as HTTPMethod, url)) known.on(each as HTTPMethod, url, () => {})
    }
  })

  app.setNotFoundHandler({ preHandler: app.rateLimit() }, function notFound (request, reply) {
    const path = request.url.split('?', 1)[0]!
    const allowed = METHODS.filter((method) => known.find(method, path) !== null)
    if (allowed.length === 0) throw new RisorsaNonTrovata()
    reply.header('allow', allowed.join(', '))
    throw new MetodoNonAmmesso()
  })
}, { name: 'limits', dependencies: ['auth'] })

function callerKey (request: FastifyRequest): string {
  return request.principal?.id ?? `ip:${network(request.ip)}`
}

/** An IPv6 customer holds a /64: counting single addresses would count nothing. */
function network (ip: string): string {
  if (!isIPv6(ip) || ip.startsWith('::ffff:')) return ip
  const [left = [], right] = ip.split('::').map((half) => half === '' ? [] : half.split(':'))
  const zeros = right === undefined ? [] : Array.from({ length: 8 - left.length - right.length }, () => '0')
  return [...left, ...zeros, ...(right ?? [])].slice(0, 4).join(':')
}

async function connectRedis (url: string) {
  const { Redis } = await import('ioredis')
  return new Redis(url, { connectTimeout: 500, maxRetriesPerRequest: 1, enableOfflineQueue: false })
}
