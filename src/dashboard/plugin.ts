import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Clock } from '#src/lib/time.ts'
import dashboard from './dashboard-routes.ts'
import emails from './email-routes.ts'
import jobs from '#src/administration/jobs-routes.ts'
import settings from '#src/settings/routes.ts'
import { refuseNewSubmission } from '#src/settings/maintenance.ts'
import sitemap from './sitemap-routes.ts'
import sqlConsole from '#src/sql/routes.ts'
import version from './version-routes.ts'

export interface SystemOptions { config: Config, keys: Keys, clock: Clock }

/** What the single-page application and operators ask first. */
const system: FastifyPluginAsyncTypebox<SystemOptions> = async (app, options) => {
  app.addSubmissionHook('beforeReady', refuseNewSubmission)
  await app.register(version, options)
  await app.register(sitemap, options)
  await app.register(dashboard, options)
  await app.register(settings)
  await app.register(emails, options)
  await app.register(sqlConsole, options)
  await app.register(jobs)
}
export default system
