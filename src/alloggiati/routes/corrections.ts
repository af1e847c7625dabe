import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { IdParams } from '#schemas/common.ts'
import { CorrectionAnswer, CorrectionBody, type PoliceAccount } from '#schemas/decisions.ts'
import { InvioDetail } from '#schemas/invio.ts'
import { authorOf } from '#src/services/audit/log.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { recordCorrection } from '../ledger/correction.ts'
import { readSubmission, scopeOf } from '../ledger/read.ts'

/** What was sent wrong: the questura is asked to correct it, and the ledger remembers that it was. */
export const correctionRoutes: FastifyPluginAsyncTypebox<{ mode: PoliceAccount['modalita'], keys: Keys }> = async (
  app,
  { mode, keys }
) => {
  const { db, audit } = app
  const scope = scopeOf(mode)
  app.addSchema(InvioDetail)

  app.route({
    method: 'POST',
    url: '/api/v1/invii/:id/correzione',
    config: { access: 'auth', scope: 'invio', idempotent: true, headers: { sends: { Location: [] } } },
    schema: {
      operationId: 'registraCorrezione',
      errorCodes: ['INVIO_NON_TROVATO'],
      tags: ['Alloggiati Web'],
      summary: 'Registra che alla Questura è stata chiesta la correzione di un invio. Non invia nulla',
      params: IdParams,
      body: CorrectionBody,
      response: { 201: CorrectionAnswer }
    },
    handler: async (request, reply) => {
      const { id } = request.params
      await db.transaction(async (tx) => {
        await request.noteDone(tx)
        await recordCorrection(tx, audit, scope, id, request.body, authorOf(request))
      })
      const data = await readSubmission(db, keys, scope, id)
      return reply.code(201).send({ message: 'Richiesta di correzione registrata', data, status: 201 })
    }
  })
}
