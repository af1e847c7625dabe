import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Clock } from '#src/lib/time.ts'
import dashboard from './dashboard-routes.ts'
import sqlRoutes from './sql-routes.ts'

/** What the single-page application and operators ask first. */
const system: FastifyPluginAsyncTypebox<{ config: Config, keys: Keys, clock: Clock }> = async (app, options) => {
  await app.register(dashboard, options)
  await app.register(sqlRoutes, options)
}
export default system
