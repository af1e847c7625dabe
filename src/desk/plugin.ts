import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Clock } from '#src/lib/time.ts'
import deskPages from './pages/plugin.ts'
import { todayRoutes } from './routes.ts'

/** The front desk: the route of the day, and the pages for the host's daily work. */
const desk: FastifyPluginAsyncTypebox<{ clock: Clock }> = async (app, { clock }) => {
  await app.register(todayRoutes, { clock })
  await app.register(deskPages, { clock })
}
export default desk
