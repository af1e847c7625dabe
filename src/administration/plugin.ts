import type { FastifyPluginAsync } from 'fastify'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import auditRoutes from './audit-routes.ts'
import jobsRoutes from './jobs-routes.ts'
import pages from './pages.ts'

/** The pages under `/ad/`, the audit log and the jobs, for administrators. The one area that looks into all others. */
const administration: FastifyPluginAsync<{ config: Config, keys: Keys }> = async (app, { config, keys }) => {
  await app.register(auditRoutes)
  await app.register(jobsRoutes)
  await app.register(pages, { config, keys })
}
export default administration
