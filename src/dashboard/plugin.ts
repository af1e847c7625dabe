import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { TopCountries, TopCountriesQuery, WidgetData } from '#schemas/dashboard.ts'
import { VersionResponse } from '#schemas/version.ts'
import { countByCountry, countDay, countryName } from '#src/bookings/index.ts'
import type { Config } from '#src/config/config.ts'
import { html } from '#src/lib/html.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Clock } from '#src/lib/time.ts'
import { runningVersion, VERSION, type Running } from '#src/lib/version.ts'
import emailRoutes from './email-routes.ts'

interface DashboardOptions { config: Config, keys: Keys, clock: Clock }

const tags = ['Sistema']

const versionRoute = {
  config: { access: 'public' },
  schema: {
    operationId: 'getVersion',
    tags,
    summary: 'La versione del servizio, il suo commit e il nome del deploy',
    response: { 200: VersionResponse }
  }
} as const

const SITEMAP = Type.String({
  examples: [
    '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n' +
      '<url><loc>https://locanda.example/docs</loc></url>\n</urlset>\n'
  ]
})

const sitemapRoute = {
  config: { access: 'public' },
  schema: {
    operationId: 'getSitemap',
    tags,
    summary: 'L’elenco delle pagine pubbliche, per i motori di ricerca',
    response: {
      200: { description: 'Sitemap 0.9 di sitemaps.org', content: { 'application/xml': { schema: SITEMAP } } }
    }
  }
} as const

const widgetRoute = {
  config: { access: 'auth' },
  schema: {
    operationId: 'getWidgetData',
    tags,
    summary: 'Arrivi e partenze di oggi, e il prossimo ospite',
    response: { 200: WidgetData }
  }
} as const

const countriesRoute = {
  config: { access: 'auth' },
  schema: {
    operationId: 'getTopCountries',
    tags,
    summary: 'I paesi da cui arriva il maggior numero di prenotazioni',
    querystring: TopCountriesQuery,
    response: { 200: TopCountries }
  }
} as const

/** Routes of the version, the sitemap, the widget and the map, and of the mails that administrators write. */
const dashboard: FastifyPluginAsyncTypebox<DashboardOptions> = async (app, { config, keys, clock }) => {
  const { sql } = app
  let running: Promise<Running> | undefined
  let sitemap = ''
  // After this event every plugin has named its pages, and the sitemap does not change.
  app.addHook('onReady', async () => { sitemap = sitemapOf(config.PUBLIC_URL, app.publicPages) })

  app.get('/api/version', versionRoute, async (_request, reply) => {
    // The files of a running process do not change, so git runs once.
    running ??= runningVersion()
    const { version, commit } = await running.catch(() => {
      // On a busy machine git may time out. The next request tries again.
      running = undefined
      return { version: VERSION, commit: '' }
    })
    reply.header('cache-control', 'public, max-age=300')
    return { version, latestCommit: commit, hostingDeploy: config.HOSTING_DEPLOY ?? 'local' }
  })

  app.get('/sitemap.xml', sitemapRoute, async (_request, reply) =>
    reply.type('application/xml; charset=utf-8').header('cache-control', 'public, max-age=3600').send(sitemap))

  app.get('/api/widget/data', widgetRoute, async () => {
    const { arrivals, departures, next_guest } = await countDay(sql, clock.today())
    return { todayArrivals: arrivals, todayDepartures: departures, nextGuest: next_guest ?? '' }
  })

  app.get('/api/map/top-countries', countriesRoute, async (request) => {
    const found = await countByCountry(sql, request.query.limit)
    return found.map(({ paese_id, totale }) => ({ country: countryName(paese_id), count: totale }))
  })

  await app.register(emailRoutes, { keys })
}
export default dashboard

/** A sitemap by the sitemaps.org protocol, version 0.9. */
function sitemapOf (base: string, pages: ReadonlySet<string>): string {
  const urls = [...pages].map((page) => html`<url><loc>${new URL(base + page).href}</loc></url>\n`)
  return '<?xml version="1.0" encoding="UTF-8"?>\n' +
    html`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n${urls}</urlset>\n`.html
}
