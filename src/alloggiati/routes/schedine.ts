import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  FileBody,
  InvioAnswer,
  InvioBody,
  InvioDuplicate,
  InvioFailure,
  InvioUnderWay,
  ValidaAnswer,
  ValidaBody
} from '#schemas/alloggiati.ts'
import { ErrorBody, IdParams, Ref } from '#schemas/common.ts'
import { InvioPrenotazioneBody, SchedineAnswer, SchedineBody } from '#schemas/from-booking.ts'
import { FROM_BOOKING_ERRORS, SUBMISSION_ERRORS } from '#schemas/errors/groups.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { SchedineGiaInviate } from '../sent-errors.ts'
import { accept, judge, type SchedineContext } from '../schedine/accept.ts'
import { answerBegun } from '../schedine/begun.ts'
import { filing } from '../schedine/filing.ts'
import { confirmationFaults, stayGivenFaults } from '../schedine/confirmation.ts'
import { fromBooking, refuseUnnamedRenewal } from '../schedine/from-booking.ts'
import { findMissing } from '../schedine/missing.ts'
import { requesterOf } from '../schedine/requester.ts'
import { submit } from '../schedine/submission.ts'

const tags = ['Alloggiati Web']
// An Idempotency-Key that was used for something else is a 422 too, of the common shape.
const failed = Type.Union([Ref(InvioFailure), Ref(ErrorBody)])
// 202: begun, for who asked not to wait (`Prefer: respond-async`).
const sendResponses = { 200: InvioAnswer, 202: Ref(InvioUnderWay), 409: Ref(InvioDuplicate), 422: failed }
// Wherever a submission was begun, under a key before or now; a rehearsal is none.
const headers = { sends: { Location: [200, 202, 409, 422] } } as const

/** Schedine, given in the request or made from a booking's saved guests: checked, sent, or written as a file. */
export const schedineRoutes: FastifyPluginAsyncTypebox<{ context: SchedineContext }> = async (app, { context }) => {
  const { db } = app
  app.addSchema(InvioDuplicate)

  app.route({
    method: 'POST',
    url: '/api/alloggiati/valida',
    config: { access: 'auth', scope: 'lettura' },
    schema: {
      operationId: 'validaSchedine',
      tags,
      summary: 'Controlla le schedine con le regole ufficiali',
      body: ValidaBody,
      response: { 200: ValidaAnswer }
    },
    handler: async (request) => {
      const { valid, errors, warnings } = await judge(context, request.body.ospiti, request.body.prenotazione)
      return { valid, errors, warnings }
    }
  })

  app.route({
    method: 'POST',
    url: '/api/alloggiati/invio',
    config: {
      access: 'auth',
      scope: 'invio',
      idempotent: true,
      headers,
      findFaults: ({ body }) => [...stayGivenFaults(body), ...confirmationFaults(body)]
    },
    schema: {
      operationId: 'inviaSchedine',
      errorCodes: ['PRENOTAZIONE_NON_TROVATA', ...SUBMISSION_ERRORS],
      tags,
      summary: 'Invia le schedine alla Polizia (testMode: solo prova). Un invio non si può annullare',
      body: InvioBody,
      response: sendResponses
    },
    preHandler: answerRepeated,
    handler: async (request, reply) =>
      submit(context, request.body, authorOf(request), requesterOf(request, reply))
  })

  app.route({
    method: 'POST',
    url: '/api/alloggiati/file',
    config: { access: 'auth', scope: 'lettura', findFaults: ({ body }) => stayGivenFaults(body) },
    schema: {
      operationId: 'creaFileSchedine',
      errorCodes: ['VALIDAZIONE'],
      tags,
      summary: 'Le schedine come file per il portale o la PEC, quando il servizio non risponde. Non registra nulla',
      body: FileBody,
      response: { 200: { description: 'Il file', content: { 'text/plain': { schema: Type.String() } } }, 422: failed }
    },
    handler: async (request, reply) => {
      const { data, text } = filing(await accept(context, request.body))
      return reply
        .type('text/plain; charset=utf-8')
        .header('content-disposition', `attachment; filename=schedine_${data}.txt`)
        .send(text)
    }
  })

  app.route({
    method: 'POST',
    url: '/api/v1/prenotazioni/:id/schedine',
    config: { access: 'auth', scope: 'lettura' },
    schema: {
      operationId: 'creaSchedine',
      errorCodes: [...FROM_BOOKING_ERRORS],
      tags,
      summary: 'Le schedine degli ospiti salvati di una prenotazione, controllate. Non invia nulla',
      params: IdParams,
      body: SchedineBody,
      response: { 200: SchedineAnswer }
    },
    handler: async (request) => {
      const { schedine, soggiorno } = await fromBooking(db, request.params.id, request.body ?? {})
      const { valid, errors, warnings } = await judge(context, schedine, soggiorno)
      return { schedine, soggiorno, valid, errors, warnings }
    }
  })

  app.route({
    method: 'POST',
    url: '/api/v1/prenotazioni/:id/invio',
    config: {
      access: 'auth', scope: 'invio', idempotent: true, headers, findFaults: ({ body }) => confirmationFaults(body)
    },
    schema: {
      operationId: 'inviaPrenotazione',
      errorCodes: [...FROM_BOOKING_ERRORS, ...SUBMISSION_ERRORS],
      tags,
      summary:
        'Invia alla Polizia le schedine degli ospiti salvati (testMode: solo prova). Un invio non si può annullare',
      params: IdParams,
      body: InvioPrenotazioneBody,
      response: sendResponses
    },
    preHandler: answerRepeated,
    handler: async (request, reply) => {
      // The guests are saved here, and can be put right: what is refused before anything is begun is tried anew.
      request.isUndecided = true
      const { dal, id_appartamento, solo_mancanti, ...rest } = request.body ?? {}
      const booking = await fromBooking(db, request.params.id, { dal, id_appartamento })
      if (dal === undefined) refuseUnnamedRenewal(booking.soggiorno, context.clock.today())
      const missing = solo_mancanti && context.ledger ? await findMissing(context.ledger, booking) : undefined
      const whole = { schedine: booking.schedine, places: undefined, avvisi: [] }
      const { schedine: ospiti, places: indices, avvisi } = missing ?? whole
      const versions = new Map([[request.params.id, booking.versione]])
      const body = { ospiti, indices, avvisi, versions, prenotazione: booking.soggiorno, ...rest }
      const answer = await submit(context, body, authorOf(request), requesterOf(request, reply))
        .catch((err: unknown) => { throw err instanceof SchedineGiaInviate ? ofBooking(err, ospiti.length) : err })
      return avvisi.length === 0 ? answer : { ...answer, avvisi: [...avvisi, ...answer.avvisi ?? []] }
    }
  })

  /** Guests of the booking against whom nothing stands can be sent without the others. */
  function ofBooking ({ duplicati, confirmable, movedFrom }: SchedineGiaInviate, guests: number): SchedineGiaInviate {
    const othersLeft = new Set(duplicati.map(({ ospite }) => ospite)).size < guests
    return new SchedineGiaInviate(duplicati, { confirmable, othersLeft, movedFrom })
  }

  /** A request that was made before, with the same Idempotency-Key: its submission is told of, and none is begun. */
  async function answerRepeated (request: FastifyRequest, reply: FastifyReply) {
    const [ricevuta] = request.begun ?? []
    if (ricevuta === undefined) return undefined
    return reply.send(await answerBegun(db, ricevuta, requesterOf(request, reply)))
  }
}
