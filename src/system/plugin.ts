import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Clock } from '#src/lib/time.ts'
import dashboard from './dashboard-routes.ts'
import emails from './email-routes.ts'
import sitemap from './sitemap-routes.ts'
import version from './version-routes.ts'

export interface SystemOptions {
  config: Config
  keys: Keys
  clock: Clock
}

/** What the single-page application and operators ask first. */
const system: FastifyPluginAsyncTypebox<SystemOptions> = async (app, { config, keys, clock }) => {
  await app.register(dashboard, { clock })
  await app.register(emails, { keys })
  await app.register(version, { config })
  await app.register(sitemap, { config })
}
export default system
