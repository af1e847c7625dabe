import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { TopCountries, TopCountriesQuery, WidgetData } from '#schemas/dashboard.ts'
import { countByCountry, countDay, countryName } from '#src/bookings/index.ts'
import type { Clock } from '#src/lib/time.ts'

const tags = ['Sistema']

/** What the dashboard of the single-page application shows of the bookings. */
const dashboard: FastifyPluginAsyncTypebox<{ clock: Clock }> = async (app, { clock }) => {
  app.route({
    method: 'GET',
    url: '/api/widget/data',
    config: { access: 'auth' },
    schema: {
      operationId: 'getWidgetData',
      tags,
      summary: 'Arrivi e partenze di oggi, e il prossimo ospite',
      response: { 200: WidgetData }
    },
    handler: async () => {
      const today = clock.today()
      const { arrivals, departures, next_guest } = await countDay(app.sql, today)
      return { todayArrivals: arrivals, todayDepartures: departures, nextGuest: next_guest ?? '' }
    }
  })

  app.route({
    method: 'GET',
    url: '/api/map/top-countries',
    config: { access: 'auth' },
    schema: {
      operationId: 'getTopCountries',
      tags,
      summary: 'I paesi da cui arriva il maggior numero di prenotazioni',
      querystring: TopCountriesQuery,
      response: { 200: TopCountries }
    },
    handler: async (request) => {
      const found = await countByCountry(app.sql, request.query.limit)
      return found.map(({ paese_id, totale }) => ({ country: countryName(paese_id), count: totale }))
    }
  })
}
export default dashboard
