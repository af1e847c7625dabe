import fp from 'fastify-plugin'
import { Closed, OneOf } from '#schemas/common.ts'
import { ServizioOccupato, SpazioEsaurito } from '#src/lib/errors.ts'

const Health = Closed({ stato: OneOf(['ok']) }, { $id: 'Salute', examples: [{ stato: 'ok' }] })

const READY_WITHIN_MS = 2000

/** For the host that keeps the server up: does the process answer, and can it serve? */
export default fp(async function ops (app) {
  // A connection of its own: busy ones would answer when their work is done.
  const { sql } = app.openPool(1)
  const ask = async () => {
    await sql`select 1`.catch(() => { throw new ServizioOccupato() })
    if (await app.isDiskFull(sql)) throw new SpazioEsaurito()
  }
  /** One for all who ask meanwhile: anybody may. */
  let look: Promise<void> | undefined

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
      if (app.isDraining()) throw new ServizioOccupato()
      const timeout = new Promise<never>((_resolve, reject) =>
        setTimeout(reject, READY_WITHIN_MS, new ServizioOccupato()).unref()
      )
      look ??= ask().finally(() => { look = undefined })
      await Promise.race([look, timeout])
      return { stato: 'ok' as const }
    }
  })
}, { name: 'ops', dependencies: ['database', 'disk', 'shutdown'] })
