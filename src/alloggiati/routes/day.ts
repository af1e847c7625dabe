import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { InvioFailure } from '#schemas/alloggiati.ts'
import { ErrorBody, Ref } from '#schemas/common.ts'
import { GiornataAnswer, GiornataBody, PrenotazioneDellaGiornata } from '#schemas/giornata.ts'
import { authorOf } from '#src/services/audit/log.ts'
import type { SchedineContext } from '../schedine/accept.ts'
import { answerBegunDay } from '../schedine/day/begun.ts'
import { dayFaults, submitDay } from '../schedine/day/day.ts'
import { requesterOf } from '../schedine/requester.ts'

/** A whole arrival day in one go. */
export const dayRoutes: FastifyPluginAsyncTypebox<{ context: SchedineContext }> = async (app, { context }) => {
  app.addSchema(PrenotazioneDellaGiornata)

  app.route({
    method: 'POST',
    url: '/api/v1/invii/giornata',
    config: {
      access: 'auth',
      scope: 'invio',
      idempotent: true,
      headers: { reads: ['Prefer'], sends: { 'Preference-Applied': [200] } },
      findFaults: ({ body }) => dayFaults(body, context.clock.today())
    },
    schema: {
      operationId: 'inviaGiornata',
      errorCodes: ['CREDENZIALI_MANCANTI', 'INVII_SOSPESI'],
      tags: ['Alloggiati Web'],
      summary: 'Invia alla Polizia tutte le prenotazioni complete di un giorno di arrivo (prova: dice solo quali)',
      body: GiornataBody,
      response: { 200: GiornataAnswer, 422: Type.Union([Ref(InvioFailure), Ref(ErrorBody)]) }
    },
    handler: (request, reply) => {
      const { body, begun } = request
      const requester = requesterOf(request, reply)
      if (begun !== null) return answerBegunDay(app.db, context, { body, begun }, requester)
      // The guests are saved here, and can be put right: what is refused before anything is begun is tried anew.
      request.isUndecided = true
      return submitDay(context, body, authorOf(request), requester)
    }
  })
}
