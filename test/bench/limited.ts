import process from 'node:process'
import { build } from '#src/app.ts'
import { readConfig } from '#src/config/config.ts'

/*
 * The server as it is, or with `WITHOUT_LIMITS` without rate limit and Idempotency-Key: what these cost is measured
 * between the two. It runs as a process of its own and prints its address.
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
