import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Clock } from '#src/lib/time.ts'
import dashboard from './dashboard-routes.ts'
import jobs from './jobs-routes.ts'

/** What the single-page application and operators ask first. */
const system: FastifyPluginAsyncTypebox<{ clock: Clock }> = async (app, { clock }) => {
  await app.register(dashboard, { clock })
  await app.register(jobs)
}
export default system
