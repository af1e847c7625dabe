import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Clock } from '#src/lib/time.ts'
import dashboard from './dashboard-routes.ts'
import jobs from './jobs-routes.ts'
import settings from './settings-routes.ts'
import { refuseNewSubmission } from './settings/maintenance.ts'
import sqlConsole from './sql-routes.ts'

/** What the single-page application and operators ask first. */
const system: FastifyPluginAsyncTypebox<{ config: Config, keys: Keys, clock: Clock }> = async (app, options) => {
  app.addSubmissionHook('beforeReady', refuseNewSubmission)
  await app.register(dashboard, options)
  await app.register(jobs)
  await app.register(settings)
  await app.register(sqlConsole, options)
}
export default system
