import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { FileBody, InvioAnswer, InvioDuplicate, InvioFailure } from '#schemas/alloggiati.ts'
import { ErrorBody, IdParams, Ref } from '#schemas/common.ts'
import { InvioPrenotazioneBody, SchedineAnswer, SchedineBody } from '#schemas/from-booking.ts'
import { authorOf } from '#src/plugins/audit/log.ts'
import { accept, type Desk } from '../schedine/accept.ts'
import { filing } from '../schedine/filing.ts'
import { fromBooking } from '../schedine/from-booking.ts'
import { validate } from '../rules/validate.ts'
import { submit } from '../schedine/submission.ts'

const tags = ['Alloggiati Web']
const failed = Type.Union([Ref(InvioFailure), Ref(ErrorBody)])

/** Schedine from what is stored of a booking, and as a file for when the service cannot be reached. */
export const storedRoutes: FastifyPluginAsyncTypebox<{ desk: Desk }> = async (app, { desk }) => {
  const { db } = app

  app.route({
    method: 'POST',
    url: '/api/v1/prenotazioni/:id/schedine',
    config: { access: 'auth', scope: 'lettura' },
    schema: {
      operationId: 'creaSchedine',
      tags,
      summary: 'Le schedine degli ospiti salvati di una prenotazione, controllate. Non invia nulla',
      params: IdParams,
      body: SchedineBody,
      response: { 200: SchedineAnswer }
    },
    handler: async (request) => {
      const id_appartamento = request.body?.id_appartamento
      const { schedine, soggiorno } = await fromBooking(db, request.params.id, id_appartamento)
      const fileUnico = id_appartamento !== undefined
      const { valid, errors, warnings } = validate({
        ospiti: schedine,
        soggiorno,
        tables: await desk.tables(),
        today: desk.clock.today(),
        fileUnico
      })
      return { schedine, soggiorno, valid, errors, warnings }
    }
  })

  app.route({
    method: 'POST',
    url: '/api/v1/prenotazioni/:id/invio',
    config: { access: 'auth', scope: 'invio', idempotent: true },
    schema: {
      operationId: 'inviaPrenotazione',
      tags,
      summary:
        'Invia alla Polizia le schedine degli ospiti salvati (testMode: solo prova). Un invio non si può annullare',
      params: IdParams,
      body: InvioPrenotazioneBody,
      response: { 200: InvioAnswer, 409: Ref(InvioDuplicate), 422: failed }
    },
    handler: async (request) => {
      const { id_appartamento, testMode } = request.body ?? {}
      const { schedine, soggiorno } = await fromBooking(db, request.params.id, id_appartamento)
      return submit(desk, { ospiti: schedine, prenotazione: soggiorno, testMode }, authorOf(request))
    }
  })

  app.route({
    method: 'POST',
    url: '/api/alloggiati/file',
    config: { access: 'auth', scope: 'lettura' },
    schema: {
      operationId: 'creaFileSchedine',
      tags,
      summary: 'Le schedine come file per il portale o la PEC, quando il servizio non risponde. Non registra nulla',
      body: FileBody,
      response: { 200: { description: 'Il file', content: { 'text/plain': { schema: Type.String() } } }, 422: failed }
    },
    handler: async (request, reply) => {
      const { data, text } = filing(await accept(desk, request.body))
      return reply
        .type('text/plain; charset=utf-8')
        .header('content-disposition', `attachment; filename=schedine_${data}.txt`)
        .send(text)
    }
  })
}
