import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type, type Static } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify'
import {
  FileBody, InvioResponse, InvioBody, InvioDuplicate, InvioFailure, InvioUnderWay, ValidaResponse, ValidaBody
} from '#schemas/alloggiati.ts'
import { ErrorBody, IdParams, Ref, type FieldError } from '#schemas/common.ts'
import { InvioPrenotazioneBody, SchedineResponse, SchedineBody } from '#schemas/from-booking.ts'
import { FROM_BOOKING_ERRORS, SUBMISSION_ERRORS } from '#schemas/errors/groups.ts'
import { staysById } from '#src/bookings/index.ts'
import { authorOf } from '#src/services/audit/log.ts'
import {
  NullaDaInviare, PrenotazioneNonConfermata, requireConfirmed, SchedineGiaInviate, SchedineInCorso
} from '../sent-errors.ts'
import { arrivalWindowOpen } from '../deadlines.ts'
import { withApartment } from '../ledger/sent-apartments.ts'
import {
  accept, validateGuests, namedByCaller, withReasons, type Accepted, type SchedineContext
} from '../schedine/accept-schedine.ts'
import { unknownApartments } from '../schedine/known-apartments.ts'
import { respondToRepeat, submit } from '../schedine/submission.ts'
import { fromBooking, findMissing } from '../schedine/from-booking.ts'
import { requesterOf, type Requester } from '../schedine/requester.ts'
import { warningsHeader } from '#src/lib/warnings-header.ts'
import { encodingDoubt } from '#src/lib/wrong-encoding.ts'
import { bookingsWithCodeOf } from '#src/bookings/index.ts'
import type { Executor } from '#src/database/connect.ts'
import type { Segnalazione } from '#schemas/schedina.ts'
import { GiornataResponse, GiornataBody, PrenotazioneDellaGiornata } from '#schemas/giornata.ts'
import { respondToRepeatedDay, dayErrors, submitDay } from '../schedine/day/arrival-day.ts'

// 422 has two shapes, because reusing an Idempotency-Key for another request has the common one.
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
    response: { 200: GiornataResponse, 422: Type.Union([Ref(InvioFailure), Ref(ErrorBody)]) }
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
    const { records, lines, stay, warnings } = await accept(context, request.body, 'mail')
    const name = `schedine_${records[0]!.data_arrivo}.txt`
    const avvisi = warningsHeader([...warnings, ...await apartmentRemarks(context, stay)])
    reply.type('text/plain; charset=utf-8')
      .headers({ 'content-disposition': `attachment; filename=${name}`, 'x-alloggiati-canale': 'pec' })
      .headers(avvisi === undefined ? {} : { 'x-alloggiati-avvisi': avvisi })
    // CRLF between lines, none at the end, no byte order mark (guide, p. 31 and 33).
    return reply.send(lines.join('\r\n'))
  })
  app.post('/api/v1/prenotazioni/:id/schedine', CREA_SCHEDINE, async ({ params: { id }, body }) => {
    const comparison = { ...context, db, today: context.clock.today() }
    const { dal } = body ?? {}
    const booking = await fromBooking(comparison, id, body ?? {})
    const { schedine, places, avvisi, nights, stato, nome_cognome, later } = booking
    const { ledger } = context
    const soggiorno = ledger === null
      ? booking.soggiorno
      : await withApartment(booking.soggiorno, db, ledger.service.account)
    const { errors: broken, warnings: given } = await validateGuests(context, schedine, soggiorno, { nights })
    const sent = await sentInTime(context, booking)
    const explained = withReasons(broken, avvisi, places)
    const found = sent === undefined
      ? explained
      : [...explained.filter(({ campo }) => campo !== 'check_in'), aboutBooking('check_in', sent.message)]
    const state = stato === 'confermata'
      ? []
      : [aboutBooking('stato', new PrenotazioneNonConfermata(id, stato).message)]
    const errors = [...state, ...namedByCaller(found, dal)]
    const warnings = [...given, ...later, ...await remarksOnBooking(db, id, nome_cognome)]
    return { schedine, soggiorno, valid: errors.length === 0, errors, warnings }
  })
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

/** Warnings when the name has a wrong encoding, and when bookings of other people have the same external code. */
async function remarksOnBooking (db: Executor, id: number, nome_cognome: string): Promise<Segnalazione[]> {
  const doubt = encodingDoubt(nome_cognome)
  const name = doubt === undefined ? [] : [aboutBooking('nome_cognome', `Il nome della prenotazione ${doubt}`)]
  const others = await bookingsWithCodeOf(db, id)
  if (others.length === 0) return name
  const who = others.length === 1
    ? `Anche la prenotazione ${others[0]} ha questo codice`
    : `Anche le prenotazioni ${others.join(', ')} hanno questo codice`
  const messaggio = `${who}, con un altro nome: controllarlo`
  return [...name, aboutBooking('idf_gen', messaggio)]
}

/** A warning about an apartment that the service does not list. It may have been disabled since the arrival. */
async function apartmentRemarks (
  { ledger }: SchedineContext, { id_appartamento }: Accepted['stay']
): Promise<Segnalazione[]> {
  if (ledger === null || id_appartamento === undefined) return []
  const unknown = await unknownApartments(ledger.service, [id_appartamento])
  if (unknown === undefined) return []
  const messaggio = `L’appartamento ${id_appartamento} non è fra quelli attivi. ${unknown.advice}`
  return [aboutBooking('id_appartamento', messaggio)]
}

/** A warning about a field of the booking. */
function aboutBooking (campo: string, messaggio: string): Segnalazione {
  return { ospite: 0, campo, messaggio }
}

/** Responds to a repeated Idempotency-Key with the first request's submission, and creates no other. */
async function answerRepeated (db: Executor, request: FastifyRequest, reply: FastifyReply) {
  const [ricevuta] = request.startedWork ?? []
  if (ricevuta === undefined) return undefined
  return reply.send(await respondToRepeat(db, ricevuta, requesterOf(request, reply)))
}

/**
 * The refusal for guests who were all sent, and whose arrival the service no longer accepts. Without it the rules would
 * advise to declare them by certified mail.
 */
async function sentInTime (
  { ledger, clock }: SchedineContext, booking: Parameters<typeof findMissing>[1]
): Promise<NullaDaInviare | SchedineInCorso | undefined> {
  if (ledger === null || arrivalWindowOpen(booking.soggiorno.check_in, clock.today())) return undefined
  try {
    await findMissing(ledger, booking)
    return undefined
  } catch (err) {
    if (err instanceof NullaDaInviare || err instanceof SchedineInCorso) return err
    throw err
  }
}

/** Sends the saved guests of a booking, or only those who are not sent yet. */
async function submitBooking (
  db: Executor,
  context: SchedineContext,
  request: FastifyRequest & { params: { id: number }, body: Static<typeof InvioPrenotazioneBody> },
  requester: Requester
): Promise<InvioResponse> {
  const { params: { id }, body: given } = request
  const { dal, id_appartamento, solo_mancanti, ...rest } = given ?? {}
  const [stay] = await staysById(db, [id])
  if (stay) requireConfirmed(stay)
  const comparison = { ...context, db, today: context.clock.today() }
  const booking = await fromBooking(comparison, id, { dal, id_appartamento })
  const missing = solo_mancanti && context.ledger ? await findMissing(context.ledger, booking) : undefined
  const sent = await sentInTime(context, booking)
  if (sent !== undefined) throw sent
  const { schedine: ospiti, places: indices, avvisi: changed } = missing ?? booking
  const avvisi = [...changed, ...booking.later, ...await remarksOnBooking(db, id, booking.nome_cognome)]
  const versions = new Map([[id, booking.versione]])
  const nights = indices.map((place) => booking.nights[booking.places.indexOf(place)]!)
  const body = {
    ospiti, indices, avvisi: changed, versions, nights, dal, prenotazione: booking.soggiorno, ...rest
  }
  const answer = await submit(context, body, authorOf(request), requester).catch((err: unknown) => {
    throw err instanceof SchedineGiaInviate ? ofBooking(err, ospiti.length) : err
  })
  return avvisi.length === 0 ? answer : { ...answer, avvisi: [...avvisi, ...answer.avvisi ?? []] }
}

/** Adds to the error whether the guests without a conflict can be sent alone. */
function ofBooking ({ duplicati, confirmable, movedFrom }: SchedineGiaInviate, guests: number): SchedineGiaInviate {
  const othersLeft = new Set(duplicati.map(({ ospite }) => ospite)).size < guests
  return new SchedineGiaInviate(duplicati, { confirmable, othersLeft, movedFrom })
}

/** A confirmation needs a reason: for other guests than those sent before, or for more than the booking has. */
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
