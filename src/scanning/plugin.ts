import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Config } from '#src/config/config.ts'
import type { Clock } from '#src/lib/time.ts'
import { mrzRoutes } from './mrz/routes.ts'
import { ocrRoutes } from './ocr/routes.ts'
import { textEngine } from './text/engine.ts'
import { ownEngine } from './text/own-engine.ts'

/** What identity documents say of their holders. */
const scanning: FastifyPluginAsyncTypebox<{ config: Config, clock: Clock }> = async (app, { config, clock }) => {
  const engine = textEngine()
  app.addHook('onClose', engine.close)
  await app.register(mrzRoutes, { clock })
  await app.register(ocrRoutes, { config, clock, texts: ownEngine(engine) })
}
export default scanning
