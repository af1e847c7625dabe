import type { FastifyRateLimitStoreCtor } from '@fastify/rate-limit'
import type { FastifyBaseLogger } from 'fastify'
import type { Redis } from 'ioredis'

/** Readable, so that an operator who lists the keys sees whose counters they are. */
const PREFIX = 'locanda:requests:'
/** The window begins with its first request. */
const COUNT = `
  local count = redis.call('INCR', KEYS[1])
  if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
  return {count, redis.call('PTTL', KEYS[1])}
`
/** After a failure Redis is left alone for so long: a mute one would hold every request up. */
const PAUSE_MS = 1000
/** Callers that one process counts, about 10 MB. Beyond it the oldest windows go: the limit is a courtesy, no guard. */
const MOST_CALLERS = 50_000

interface Counted { current: number, ttl: number }

/** The counters of requests: in Redis, which processes share, and in this process while Redis is away. */
export interface RequestCounts {
  store: FastifyRateLimitStoreCtor
  isRedisAway (): boolean
}

export function requestCounts (redis: Redis | undefined, log: FastifyBaseLogger): RequestCounts {
  const countHere = localCounter()
  const shared = redis === undefined ? undefined : sharedCounter(redis, log)

  async function count (key: string, windowMs: number): Promise<Counted> {
    return await shared?.count(key, windowMs) ?? countHere(key, windowMs)
  }

  class Store {
    incr (key: string, done: (err: Error | null, counted?: Counted) => void, windowMs: number): void {
      if (shared === undefined) return done(null, countHere(key, windowMs))
      count(key, windowMs).then((counted) => done(null, counted), done)
    }

    /** What is counted apart has keys of its own. */
    child (): Store {
      return this
    }
  }
  return { store: Store, isRedisAway: () => shared?.isAway() ?? false }
}

function localCounter (): (key: string, windowMs: number) => Counted {
  const windows = new Map<string, { current: number, endsAt: number }>()

  return function count (key, windowMs) {
    const now = Date.now()
    const known = windows.get(key)
    if (known !== undefined && known.endsAt > now) return { current: ++known.current, ttl: known.endsAt - now }
    windows.delete(key)
    for (const oldest of windows.keys()) {
      if (windows.size < MOST_CALLERS) break
      windows.delete(oldest)
    }
    windows.set(key, { current: 1, endsAt: now + windowMs })
    return { current: 1, ttl: windowMs }
  }
}

function sharedCounter (redis: Redis, log: FastifyBaseLogger) {
  let isAway = false
  let pausedUntil = 0

  function leave (err: unknown): void {
    pausedUntil = Date.now() + PAUSE_MS
    if (!isAway) log.warn({ err }, 'Redis is gone: each process counts requests alone')
    isAway = true
  }
  redis.on('error', leave)
  redis.on('ready', () => { pausedUntil = 0 })

  return {
    isAway: () => isAway,
    /** Undefined while Redis does not count. */
    async count (key: string, windowMs: number): Promise<Counted | undefined> {
      if (Date.now() < pausedUntil) return undefined
      try {
        const answer = await redis.eval(COUNT, 1, PREFIX + key, windowMs)
        const [current = NaN, ttl = NaN] = Array.isArray(answer) ? answer.map(Number) : []
        if (isAway) log.info('Redis is back: processes share the counters of requests')
        isAway = false
        return { current, ttl }
      } catch (err) {
        leave(err)
        return undefined
      }
    }
  }
}
