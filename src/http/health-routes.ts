import fp from 'fastify-plugin'
import { Closed, OneOf } from '#schemas/common.ts'
import { ServizioOccupato, SpazioEsaurito } from '#src/lib/errors.ts'

const Health = Closed({ stato: OneOf(['ok']) }, { $id: 'Salute', examples: [{ stato: 'ok' }] })

const READY_WITHIN_MS = 2000

/** Health checks for the orchestrator: liveness and readiness. */
export default fp(async function healthRoutes (app) {
  // A separate connection, because busy connections of the pool would respond only after their current work.
  const { sql } = app.openPool(1)
  const ask = async () => {
    await sql`select 1`.catch(() => { throw new ServizioOccupato() })
    if (await app.isDiskFull(sql)) throw new SpazioEsaurito()
  }
  /** Concurrent requests share one check, because the route is public. */
  let check: Promise<void> | undefined

  app.route({
    method: 'GET',
    url: '/health/live',
    config: { access: 'public', rateLimit: false },
    schema: {
      operationId: 'getHealthLive',
      tags: ['Sistema'],
      summary: 'Il processo risponde',
      response: { 200: Health }
    },
    handler: async () => ({ stato: 'ok' as const })
  })

  app.route({
    method: 'GET',
    url: '/health/ready',
    config: { access: 'public', rateLimit: false },
    schema: {
      operationId: 'getHealthReady',
      tags: ['Sistema'],
      summary: 'Il servizio può lavorare: il database risponde e il disco non è pieno',
      response: { 200: Health }
    },
    handler: async () => {
      if (app.isShuttingDown()) throw new ServizioOccupato()
      const timeout = new Promise<never>((_resolve, reject) =>
        setTimeout(reject, READY_WITHIN_MS, new ServizioOccupato()).unref()
      )
      check ??= ask().finally(() => { check = undefined })
      await Promise.race([check, timeout])
      return { stato: 'ok' as const }
    }
  })
}, { name: 'health-routes', dependencies: ['database', 'disk', 'shutdown'] })
