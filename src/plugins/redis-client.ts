import type { Redis, RedisOptions } from 'ioredis'
import { parseRedisUrl } from '#src/lib/redis-address.ts'

/** A client of the Redis of `REDIS_URL`, or of the master that its sentinels name; it connects when it is told to. */
export async function redisClient (url: string, options: RedisOptions): Promise<Redis> {
  const { Redis } = await import('ioredis')
  const address = parseRedisUrl(url)
  // The configuration has seen it.
  if (address === undefined) throw new TypeError('no address of a Redis')
  if ('url' in address) return new Redis(address.url, { ...options, lazyConnect: true })
  // Its sentinels also tell when another one has become the master, of one that hangs, too.
  return new Redis({ ...options, ...address, lazyConnect: true, failoverDetector: true })
}
