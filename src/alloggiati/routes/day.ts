import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { InvioFailure } from '#schemas/alloggiati.ts'
import { ErrorBody, Ref } from '#schemas/common.ts'
import { GiornataAnswer, GiornataBody, PrenotazioneDellaGiornata } from '#schemas/giornata.ts'
import { authorOf } from '#src/plugins/audit/log.ts'
import type { SchedineContext } from '../schedine/accept.ts'
import { submitDay } from '../schedine/day/day.ts'
import { requesterOf } from '../schedine/requester.ts'

/** A whole arrival day in one go. */
export const dayRoutes: FastifyPluginAsyncTypebox<{ context: SchedineContext }> = async (app, { context }) => {
  app.addSchema(PrenotazioneDellaGiornata)

  app.route({
    method: 'POST',
    url: '/api/v1/invii/giornata',
    config: { access: 'auth', scope: 'invio', idempotent: true },
    schema: {
      operationId: 'inviaGiornata',
      tags: ['Alloggiati Web'],
      summary: 'Invia alla Polizia tutte le prenotazioni complete di un giorno di arrivo (prova: dice solo quali)',
      body: GiornataBody,
      response: { 200: GiornataAnswer, 422: Type.Union([Ref(InvioFailure), Ref(ErrorBody)]) }
    },
    // What an earlier request with the same Idempotency-Key has begun is found by its guests, and told.
    handler: (request, reply) =>
      submitDay(context, request.body, authorOf(request), requesterOf(request, reply))
  })
}
