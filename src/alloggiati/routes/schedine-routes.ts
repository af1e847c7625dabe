import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify'
import {
  FileBody, InvioResponse, InvioBody, InvioDuplicate, InvioFailure, InvioUnderWay, ValidaResponse, ValidaBody
} from '#schemas/alloggiati.ts'
import { ErrorBody, IdParams, Ref, type FieldError } from '#schemas/common.ts'
import { FROM_BOOKING_ERRORS, SUBMISSION_ERRORS } from '#schemas/errors/groups.ts'
import { InvioPrenotazioneBody, SchedineResponse, SchedineBody } from '#schemas/from-booking.ts'
import { GiornataResponse, GiornataBody, PrenotazioneDellaGiornata } from '#schemas/giornata.ts'
import type { Segnalazione } from '#schemas/schedina.ts'
import type { Executor } from '#src/database/connect.ts'
import { warningsHeader } from '#src/lib/warnings-header.ts'
import { authorOf } from '#src/services/audit/log.ts'
import type { Chosen } from '../accounts/choose-account.ts'
import {
  accept, accountFor, validateGuests, type Accepted, type SchedineContext
} from '../schedine/accept-schedine.ts'
import { checkBooking, submitBooking } from '../schedine/booking-schedine.ts'
import { respondToRepeatedDay, dayErrors, submitDay } from '../schedine/day/arrival-day.ts'
import { remark } from '../schedine/day/day-remarks.ts'
import { unknownApartments } from '../schedine/unknown-apartments.ts'
import { requesterOf } from '../schedine/requester.ts'
import { respondToRepeat, submit } from '../schedine/submission.ts'

// 422 has two shapes: a failed Send, and the common error body when a request reuses an Idempotency-Key.
const failed = Type.Union([Ref(InvioFailure), Ref(ErrorBody)])
// 202: in progress, for callers with `Prefer: respond-async`.
const sendResponses = { 200: InvioResponse, 202: Ref(InvioUnderWay), 409: Ref(InvioDuplicate), 422: failed }
// `Location` is set when this or an earlier request with the same key created a submission. A test call creates none.
const headers = { sends: { Location: [200, 202, 409, 422] } } as const

const VALIDA_SCHEDINE = {
  config: { access: 'auth', scope: 'lettura' },
  schema: {
    operationId: 'validaSchedine',
    summary: 'Controlla le schedine con le regole ufficiali',
    body: ValidaBody,
    response: { 200: ValidaResponse }
  }
} satisfies RouteShorthandOptions

const INVIA_SCHEDINE = {
  config: {
    access: 'auth',
    scope: 'invio',
    idempotent: true,
    headers,
    findValidationErrors: ({ body }) => [...stayGivenErrors(body), ...confirmationErrors(body)]
  },
  schema: {
    operationId: 'inviaSchedine',
    errorCodes: ['PRENOTAZIONE_NON_TROVATA', ...SUBMISSION_ERRORS],
    summary: 'Invia le schedine alla Polizia (testMode: solo prova). Un invio non si può annullare',
    body: InvioBody,
    response: sendResponses
  }
} satisfies RouteShorthandOptions

const CREA_FILE_SCHEDINE = {
  config: {
    access: 'auth',
    scope: 'lettura',
    headers: { sends: { 'X-Alloggiati-Canale': [200], 'X-Alloggiati-Avvisi': [200] } },
    findValidationErrors: ({ body }) => stayGivenErrors(body)
  },
  schema: {
    operationId: 'creaFileSchedine',
    errorCodes: ['VALIDAZIONE'],
    summary:
      'Le schedine come file per la PEC alla Questura, per arrivi degli ultimi 30 giorni. Non registra nulla',
    body: FileBody,
    response: { 200: { description: 'Il file', content: { 'text/plain': { schema: Type.String() } } }, 422: failed }
  }
} satisfies RouteShorthandOptions

const CREA_SCHEDINE = {
  config: { access: 'auth', scope: 'lettura' },
  schema: {
    operationId: 'creaSchedine',
    errorCodes: [...FROM_BOOKING_ERRORS],
    summary: 'Le schedine degli ospiti salvati di una prenotazione, controllate. Non invia nulla',
    params: IdParams,
    body: SchedineBody,
    response: { 200: SchedineResponse }
  }
} satisfies RouteShorthandOptions

const INVIA_PRENOTAZIONE = {
  config: {
    access: 'auth',
    scope: 'invio',
    idempotent: true,
    headers,
    findValidationErrors: ({ body }) => confirmationErrors(body)
  },
  schema: {
    operationId: 'inviaPrenotazione',
    errorCodes: [...FROM_BOOKING_ERRORS, ...SUBMISSION_ERRORS],
    summary:
      'Invia alla Polizia le schedine degli ospiti salvati (testMode: solo prova). Un invio non si può annullare',
    params: IdParams,
    body: InvioPrenotazioneBody,
    response: sendResponses
  }
} satisfies RouteShorthandOptions

const INVIA_GIORNATA = {
  config: {
    access: 'auth',
    scope: 'invio',
    idempotent: true,
    headers: { reads: ['Prefer'], sends: { 'Preference-Applied': [200] } }
  },
  schema: {
    operationId: 'inviaGiornata',
    errorCodes: ['CREDENZIALI_MANCANTI', 'INVII_SOSPESI'],
    summary: 'Invia alla Polizia tutte le prenotazioni complete di un giorno di arrivo (prova: dice solo quali)',
    body: GiornataBody,
    response: { 200: GiornataResponse, 422: failed }
  }
} satisfies RouteShorthandOptions

/** Routes that check schedine, send them, or write them to a file. The guests are in the request or in a booking. */
export const schedineRoutes: FastifyPluginAsyncTypebox<{ context: SchedineContext }> = async (app, { context }) => {
  const { db } = app
  const repeated = (request: FastifyRequest, reply: FastifyReply) => answerRepeated(db, request, reply)
  for (const schema of [InvioDuplicate, PrenotazioneDellaGiornata]) app.addSchema(schema)

  app.post('/api/alloggiati/valida', VALIDA_SCHEDINE, async ({ body: { ospiti, prenotazione } }) => {
    const { valid, errors, warnings } = await validateGuests(context, ospiti, prenotazione)
    return { valid, errors, warnings }
  })
  app.post('/api/alloggiati/invio', { ...INVIA_SCHEDINE, preHandler: repeated }, (request, reply) =>
    submit(context, request.body, authorOf(request), requesterOf(request, reply)))
  app.post('/api/alloggiati/file', CREA_FILE_SCHEDINE, async (request, reply) => {
    const chosen = await accountFor(context, request.body)
    const { records, lines, stay, warnings } = await accept(context, request.body, chosen, 'mail')
    const name = `schedine_${records[0]!.data_arrivo}.txt`
    const avvisi = warningsHeader([...warnings, ...await apartmentRemarks(chosen, stay)])
    reply.type('text/plain; charset=utf-8')
      .headers({ 'content-disposition': `attachment; filename=${name}`, 'x-alloggiati-canale': 'pec' })
      .headers(avvisi === undefined ? {} : { 'x-alloggiati-avvisi': avvisi })
    // CRLF between lines, none at the end, no byte order mark (guide, p. 31 and 33).
    return reply.send(lines.join('\r\n'))
  })
  app.post('/api/v1/prenotazioni/:id/schedine', CREA_SCHEDINE, async ({ params: { id }, body }) =>
    await checkBooking(db, context, id, body ?? {}))
  app.post('/api/v1/prenotazioni/:id/invio', { ...INVIA_PRENOTAZIONE, preHandler: repeated }, (request, reply) => {
    // Hosts can correct saved guests. So a refusal before a submission exists is not stored under the Idempotency-Key.
    request.isUndecided = true
    return submitBooking(db, context, request, requesterOf(request, reply))
  })
  const giornata = {
    ...INVIA_GIORNATA,
    config: { ...INVIA_GIORNATA.config, findValidationErrors: ({ body }) => dayErrors(body, context.clock.today()) }
  } satisfies RouteShorthandOptions
  app.post('/api/v1/invii/giornata', giornata, (request, reply) => {
    const { body, startedWork } = request
    const requester = requesterOf(request, reply)
    if (startedWork !== null) return respondToRepeatedDay(db, context, { body, startedWork }, requester)
    request.isUndecided = true
    return submitDay(context, body, authorOf(request), requester)
  })
}

/** A warning about an apartment that the service does not list. It may have been disabled since the arrival. */
async function apartmentRemarks (
  { ledger }: Pick<Chosen, 'ledger'>, { id_appartamento }: Accepted['stay']
): Promise<Segnalazione[]> {
  if (ledger === null || id_appartamento === undefined) return []
  const unknown = await unknownApartments(ledger.service, [id_appartamento])
  if (unknown === undefined) return []
  const messaggio = `L’appartamento ${id_appartamento} non è fra quelli attivi. ${unknown.advice}`
  return [remark(0, 'id_appartamento', messaggio)]
}

/** Responds to a repeated Idempotency-Key with the first request's submission, and creates no other. */
async function answerRepeated (db: Executor, request: FastifyRequest, reply: FastifyReply) {
  const [ricevuta] = request.startedWork ?? []
  if (ricevuta === undefined) return undefined
  return reply.send(await respondToRepeat(db, ricevuta, requesterOf(request, reply)))
}

/** Requires a reason with a confirmation, and a confirmation with a reason. */
function confirmationErrors (
  { confermo_diverso = false, motivo }: Readonly<Record<string, unknown>>
): FieldError[] {
  if (typeof confermo_diverso !== 'boolean' || confermo_diverso === (motivo !== undefined)) return []
  return [
    motivo === undefined
      ? { campo: 'motivo', messaggio: 'è un campo obbligatorio con confermo_diverso' }
      : { campo: 'confermo_diverso', messaggio: 'deve essere true se si dà un motivo' }
  ]
}

/** Requires the stay together with a list of guests. */
export function stayGivenErrors ({ prenotazione, soggiorno }: Readonly<Record<string, unknown>>): FieldError[] {
  if (prenotazione !== undefined || soggiorno !== undefined) return []
  return [{ campo: 'prenotazione', messaggio: 'è un campo obbligatorio se manca soggiorno' }]
}
