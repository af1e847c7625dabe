import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Clock } from '#src/lib/time.ts'
import { mrzRoutes } from './mrz/routes.ts'
import { ocrRoutes } from './ocr/routes.ts'

/** The routes that read identity documents. */
const scanning: FastifyPluginAsyncTypebox<{ clock: Clock }> = async (app, { clock }) => {
  await app.register(mrzRoutes, { clock })
  await app.register(ocrRoutes)
}
export default scanning
