import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { VerificaInvii, VerificaInviiQuery } from '#schemas/verifica-invii.ts'
import { orderOfDaysFaults } from '#src/lib/errors.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { addDays, type Clock } from '#src/lib/time.ts'
import type { ChainHead } from '#src/database/chain-head.ts'
import { verifyLedger } from '../ledger/seals/verify.ts'

/** Days that are verified unless others are asked for. */
const DAYS = 30
/** For the answer to come within 25 s. */
const WITHIN_MS = 20_000

export interface VerificationRoutesOptions { keys: Keys, clock: Clock, chainHead: ChainHead }

/** Whether the submission ledger is as it was written. */
export const verificationRoutes: FastifyPluginAsyncTypebox<VerificationRoutesOptions> = async (
  app,
  { keys, clock, chainHead }
) => {
  app.route({
    method: 'GET',
    url: '/api/v1/invii/verifica',
    config: { access: 'admin', findFaults: ({ query }) => orderOfDaysFaults(query) },
    schema: {
      operationId: 'verificaInvii',
      tags: ['Alloggiati Web'],
      summary: 'Ripercorre il registro degli invii e dice se è integro',
      querystring: VerificaInviiQuery,
      response: { 200: VerificaInvii }
    },
    handler: async ({ query: { da, a } }) => {
      const from = da ?? (a === undefined ? addDays(clock.today(), -DAYS) : undefined)
      const found = await verifyLedger(app.db, keys, chainHead, { from, to: a, withinMs: WITHIN_MS })
      return { ...found, da: from ?? null, a: a ?? null, status: 200 }
    }
  })
}
