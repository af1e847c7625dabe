import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Clock } from '#src/lib/time.ts'
import dashboardRoutes from './dashboard-routes.ts'
import emailRoutes from './email-routes.ts'
import sitemapRoutes from './sitemap-routes.ts'
import versionRoutes from './version-routes.ts'

export interface DashboardOptions { config: Config, keys: Keys, clock: Clock }

/** The first requests of a single-page application: version, sitemap, widget, map; and mails that a person writes. */
const dashboard: FastifyPluginAsyncTypebox<DashboardOptions> = async (app, options) => {
  await app.register(versionRoutes, options)
  await app.register(sitemapRoutes, options)
  await app.register(dashboardRoutes, options)
  await app.register(emailRoutes, options)
}
export default dashboard
