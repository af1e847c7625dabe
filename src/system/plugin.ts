import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Clock } from '#src/lib/time.ts'
import dashboard from './dashboard-routes.ts'
import jobs from './jobs-routes.ts'
import settings from './settings-routes.ts'
import { refuseNewSubmission } from './settings/maintenance.ts'

/** What the single-page application and operators ask first. */
const system: FastifyPluginAsyncTypebox<{ clock: Clock }> = async (app, { clock }) => {
  app.addSubmissionHook('beforeReady', refuseNewSubmission)
  await app.register(dashboard, { clock })
  await app.register(jobs)
  await app.register(settings)
}
export default system
