import process from 'node:process'
import { build } from '#src/app.ts'
import { readConfig } from '#src/config/config.ts'

/*
 * A separate process that prints its URL: the normal server or, with `WITHOUT_LIMITS`, one without rate limit and
 * Idempotency-Key. The difference shows the cost of both.
 */
const { WITHOUT_LIMITS, ...environ } = process.env
const config = readConfig(environ)
const app = await build({
  config,
  prepare: (app) => {
    app.addHook('onRoute', (route) => {
      if (WITHOUT_LIMITS) route.config = { ...route.config, rateLimit: false, heavy: false, idempotent: false }
    })
  }
})
process.once('SIGTERM', () => { void app.close() })
process.stdout.write(`${await app.listen({ port: 0, host: '127.0.0.1' })}\n`)
