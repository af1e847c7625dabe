import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { sql } from 'drizzle-orm'
import { LRUCache } from 'lru-cache'
import { Segnalazione } from '#schemas/schedina.ts'
import { TodayBooking, TodayQuery, TodayResponse, type Today } from '#schemas/today.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import type { Clock } from '#src/lib/time.ts'
import { today } from './today.ts'

const route = routesUnder('Banco')

const todayRoute = route({ access: 'auth' }, 'getOggi', 'Arrivi, partenze e chi è in casa, e che cosa manca', {
  querystring: TodayQuery, response: { 200: TodayResponse }
})

/** Limits of the cache. Entries expire, because the snapshot alone does not reveal e.g. a failover. */
const CACHE_LIMITS = { max: 8, ttl: 60_000 }

/**
 * The route of the day: arrivals, departures and guests in house. The response is cached until the database changes,
 * or the entry expires. Every transaction that writes changes the snapshot, so one query detects a change.
 */
export const todayRoutes: FastifyPluginAsyncTypebox<{ clock: Clock }> = async (app, { clock }) => {
  const cache = new LRUCache<string, Today>(CACHE_LIMITS)
  app.addSchema(Segnalazione)
  app.addSchema(TodayBooking)

  app.get('/api/v1/oggi', todayRoute, async ({ query: { giorno = clock.today() } }) => {
    // The snapshot is read before the bookings, so that the next request detects a change in between.
    const [row] = await app.db.execute<{ snapshot: string }>(sql`select pg_current_snapshot()::text as snapshot`)
    const key = `${row!.snapshot} ${giorno} ${clock.today()}`
    const cached = cache.get(key)
    if (cached) return { data: cached }
    const data = await today(app, giorno)
    cache.set(key, data)
    return { data }
  })
}
