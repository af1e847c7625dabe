import type { FieldError } from '#schemas/common.ts'
import {
  type DayState, type GiornataResponse, type GiornataBody, DAY_STATES, DAY_STATE_NAMES, SUCCESS_DAY_STATES
} from '#schemas/giornata.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { dayWithArticle } from '#src/lib/day-with-article.ts'
import { daysBetween, isDay, type Day } from '#src/lib/time.ts'
import type { Author } from '#src/services/audit/log.ts'
import { InvioFallito } from '../../errors.ts'
import { checkSuspension } from '../../ledger/suspension.ts'
import type { AccountsInUse, PoliceAccounts } from '../../accounts/police-accounts.ts'
import type { SchedineContext } from '../accept-schedine.ts'
import { unknownApartments } from '../unknown-apartments.ts'
import type { Requester } from '../requester.ts'
import { bookingOf, type DayBooking } from './day-booking.ts'
import type { DayChoice } from './day-overview.ts'
import { remark } from './day-remarks.ts'
import { bookingsOfDay } from './overdue-nights.ts'
import { sendDay, addOutcome } from './send-day.ts'
import { countWithNoun } from '#src/lib/count-with-noun.ts'
import { guestAt } from '../../ledger/fingerprints.ts'
import { readRetryTimes } from '../../ledger/read-ledger.ts'
import { placesOfRows } from '../../ledger/sent-guests.ts'
import type { Executor } from '#src/database/connect.ts'
import { describeWaiting } from '../../sent-errors.ts'
import { asc, eq, inArray } from 'drizzle-orm'
import { invii, invii_schedine as schedine } from '#drizzle/tables/ledger.ts'
import { savedGuests, staysById } from '#src/bookings/index.ts'

/** A day more than this far from today is assumed to be a typing error. */
const FAR_DAYS = 400

/** Validation errors of a request for a day, beyond its schema. */
export function dayErrors (
  { data, prenotazioni, appartamenti, id_appartamento }: Readonly<Record<string, unknown>>, today: Day
): FieldError[] {
  const ofBookings = listOf<{ prenotazione_id?: unknown } | null>(appartamenti).map((each) => each?.prenotazione_id)
  const chosen = listOf(prenotazioni)
  return [
    ...farFaults(data, today),
    ...repeatedFaults(chosen, (at) => `prenotazioni[${at}]`),
    ...repeatedFaults(ofBookings, (at) => `appartamenti[${at}].prenotazione_id`),
    ...id_appartamento !== undefined && ofBookings.length > 0 ? [BOTH] : [],
    ...ofBookings.flatMap((id, at) => id === undefined || chosen.length === 0 || chosen.includes(id)
      ? []
      : { campo: `appartamenti[${at}].prenotazione_id`, messaggio: 'non è fra quelle di «prenotazioni»' })
  ]
}

const BOTH: FieldError = {
  campo: 'id_appartamento', messaggio: 'non vale insieme con «appartamenti»: indicare lì quello di ogni prenotazione'
}

function farFaults (data: unknown, today: Day): FieldError[] {
  if (typeof data !== 'string' || !isDay(data) || Math.abs(daysBetween(today, data)) <= FAR_DAYS) return []
  return [{ campo: 'data', messaggio: `deve essere a non più di ${FAR_DAYS} giorni da oggi (ricevuto «${data}»)` }]
}

/** Returns an empty list for a value that is not an array. */
function listOf<Item> (value: unknown): Item[] {
  return Array.isArray(value) ? value : []
}

/** Errors for bookings that a list names twice. */
function repeatedFaults (ids: readonly unknown[], fieldAt: (at: number) => string): FieldError[] {
  return ids.flatMap((id, at) => id === undefined || ids.indexOf(id) === at
    ? []
    : { campo: fieldAt(at), messaggio: `la prenotazione ${String(id)} è nominata due volte` })
}

/** The chosen bookings and their apartments. `id_appartamento` applies only to a single chosen booking. */
function choiceOf (body: GiornataBody): Omit<DayChoice, 'day'> {
  const { prenotazioni: ids, appartamenti = [], id_appartamento } = body ?? {}
  const apartments = new Map(appartamenti.map((each) => [each.prenotazione_id, each.id_appartamento]))
  const [only] = ids ?? []
  if (id_appartamento !== undefined && only !== undefined && ids?.length === 1) apartments.set(only, id_appartamento)
  return { ids, apartments, hasApartments: id_appartamento !== undefined || apartments.size > 0 }
}

/**
 * Sends the bookings of an arrival day that are complete and not sent, or only reports them (`prova`). A repetition
 * reports sent bookings, and does not send them again. The response is not final while a booking is in progress or has
 * an unknown outcome. If no submission was created, it is final only if it reports success.
 * @throws InvioFallito without an account, or while sending is suspended
 * @throws CampiNonValidi for a named booking that is not due on the day. With `prova` also for an unknown apartment
 */
export async function submitDay (
  context: SchedineContext, body: GiornataBody, author: Author, requester: Requester
): Promise<GiornataResponse> {
  const { data = context.clock.today(), prova = false } = body ?? {}
  const choice = choiceOf(body)
  const { accounts } = context
  const inUse = await accounts.read()
  if (inUse.accounts.length === 0) throw new InvioFallito('CREDENZIALI_MANCANTI')
  const overview = await bookingsOfDay(context, { day: data, ...choice })
  refuseOthers('prenotazioni', choice.ids ?? [], data, overview)
  refuseOthers('appartamenti', [...choice.apartments.keys()], data, overview)
  if (prova) await refuseUnknownApartments(accounts, inUse, choice.apartments)
  if (!prova && await checkSuspension(accounts.base)) throw new InvioFallito('INVII_SOSPESI')
  const sent = prova ? overview : await sendDay(inUse, overview, { author, requester })
  const bookings = await withWaiting(accounts.base.db, sent)
  const response = responseOf({ data, prova, bookings })
  const hasBegun = bookings.some(({ schedine }) => schedine.length > 0)
  if (bookings.some(({ stato }) => PENDING_STATES.includes(stato))) requester.leaveOpen()
  else if (hasBegun || response.success) requester.end()
  return response
}

/** States whose result is not known yet. */
const PENDING_STATES: readonly DayState[] = ['in_corso', 'sconosciuta']

/** @throws CampiNonValidi for ids that are not among the bookings of the day */
function refuseOthers (campo: string, ids: readonly number[], day: Day, bookings: readonly DayBooking[]): void {
  const others = ids.filter((id) => !bookings.some(({ prenotazione_id }) => prenotazione_id === id))
  if (others.length > 0) {
    const messaggio = `non arrivano ${dayWithArticle('il', day)}, non sono confermate o non esistono: ` +
      `${others.join(', ')}. Indicare in «data» il giorno dell’arrivo, o riportarle prima a «confermata»`
    throw new CampiNonValidi({ campo, messaggio })
  }
}

/**
 * Refuses apartments that the service does not list. If the service lists no apartments, none is refused.
 * @throws CampiNonValidi
 */
async function refuseUnknownApartments (
  { accountOf, base }: PoliceAccounts, inUse: AccountsInUse, apartments: ReadonlyMap<number, number>
): Promise<void> {
  const bookings = [...apartments.keys()]
  const account = bookings.length === 0 ? undefined : await accountOf(base.db, bookings)
  for (const [name, own] of Map.groupBy(bookings, (id) => account?.(id).account)) {
    const service = name === undefined ? undefined : inUse.named(name)?.ledger.service
    const unknown = service && await unknownApartments(service, own.map((id) => apartments.get(id)!))
    if (unknown === undefined) continue
    const messaggio = `non sono fra gli appartamenti attivi: ${unknown.ids.join(', ')}. ${unknown.advice}`
    throw new CampiNonValidi({ campo: 'appartamenti', messaggio })
  }
}

/** The response for a day. A booking that is ready but not sent counts as success only with `prova`. */
function responseOf (
  { data, prova, bookings }: Pick<GiornataResponse, 'data' | 'prova'> & { bookings: readonly DayBooking[] }
): GiornataResponse {
  const inState = (name: DayState) => bookings.filter(({ stato }) => stato === name).length
  const totali = Object.fromEntries(DAY_STATE_NAMES.map((name) => [name, inState(name)])) as Record<DayState, number>
  const parts = DAY_STATE_NAMES.filter((name) => totali[name] > 0).map((name) => {
    const [one, many] = DAY_STATES[name]
    return countWithNoun(totali[name], one, many)
  })
  const all = countWithNoun(bookings.length, 'prenotazione', 'prenotazioni')
  return {
    success: bookings.every(({ stato }) =>
      SUCCESS_DAY_STATES.some((success) => success === stato) && (prova || stato !== 'pronta')),
    message: [all, parts.join(', ')].filter((part) => part !== '').join(': '),
    data,
    prova,
    totale_prenotazioni: bookings.length,
    totale_ospiti: bookings.reduce((sum, { ospiti }) => sum + ospiti, 0),
    totali,
    prenotazioni: bookings.map(({ nights, places, ready, ...fields }) => fields)
  }
}

/** Adds to each waiting booking the time of its retry. */
async function withWaiting (db: Executor, bookings: readonly DayBooking[]): Promise<DayBooking[]> {
  const underWay = bookings.filter(({ stato }) => stato === 'in_corso')
  const waiting = await readRetryTimes(db, underWay.flatMap(({ ricevute }) => ricevute))
  return bookings.map((booking) => {
    const references = booking.stato === 'in_corso' ? booking.ricevute.filter((each) => waiting.has(each)) : []
    const remarks = references.map((each) =>
      remark(0, 'ospiti', `L’invio ${each} ${describeWaiting(waiting.get(each)!)}`))
    return { ...booking, errors: [...booking.errors, ...remarks] }
  })
}

/**
 * Responds to a repeated request for a day with the current state of the submissions that the first request created.
 * Does not send. Lists other bookings of the day with their current state. The response is never final: the first
 * request may still run, or have crashed.
 */
export async function respondToRepeatedDay (
  db: Executor,
  context: SchedineContext,
  { body, startedWork }: { body: GiornataBody, startedWork: readonly string[] },
  requester: Requester
): Promise<GiornataResponse> {
  requester.leaveOpen()
  const rows = await readStarted(db, startedWork)
  const data = rows[0]!.data_arrivo
  const { accounts } = await context.accounts.read()
  const overview = accounts.length === 0 ? [] : await bookingsOfDay(context, { day: data, ...choiceOf(body) })
  const sent = await sentBookings(db, context, rows, overview)
  const others = overview.filter(({ prenotazione_id: id, dal = data }) => dal !== data ||
    !sent.some((each) => each.prenotazione_id === id))
  const unsent = others.map((booking) =>
    booking.stato === 'pronta' ? { ...booking, errors: [remark(0, 'ospiti', NOT_SENT)] } : booking)
  const bookings = [...sent, ...unsent].toSorted((one, other) => one.prenotazione_id - other.prenotazione_id)
  return responseOf({ data, prova: false, bookings: await withWaiting(db, bookings) })
}

const NOT_SENT = 'Non inviata con questa richiesta: inviare di nuovo la giornata, con un’altra Idempotency-Key'

async function readStarted (db: Executor, started: readonly string[]) {
  const { indice, esito, prenotazione_id, codice_errore, messaggio_soap, dettaglio, utente } = schedine
  const { impronta_identita: identita, impronta_persona: persona, impronta_documento: documento } = schedine
  const { ricevuta, stato, data_arrivo } = invii
  const row = { prenotazione_id, indice, esito, codice_errore, messaggio_soap, dettaglio }
  const prints = { utente, identita, persona, documento }
  return await db
    .select({ ricevuta, stato, data_arrivo, ...row, ...prints })
    .from(schedine)
    .innerJoin(invii, eq(invii.id, schedine.invio_id))
    .where(inArray(ricevuta, [...started]))
    .orderBy(asc(invii.id), asc(indice))
}

/** Makes a day booking of each booking in the given rows, with the outcomes of its guests. */
async function sentBookings (
  db: Executor,
  { keys }: SchedineContext,
  rows: Awaited<ReturnType<typeof readStarted>>,
  overview: readonly DayBooking[]
): Promise<DayBooking[]> {
  const byBooking = Map.groupBy(rows, (row) => row.prenotazione_id!)
  const ids = [...byBooking.keys()]
  const stays = await staysById(db, ids)
  const saved = await savedGuests(db, ids)
  return [...byBooking].map(([id, own]) => {
    const day = own[0]!.data_arrivo
    const stay = stays.find((one) => one.id === id)
    const guests = saved.get(id) ?? []
    const line = overview.find(({ prenotazione_id, dal }) => prenotazione_id === id && (dal ?? day) === day)
    const { ospiti, numero_ospiti, dal } = line ?? {}
    const booking = {
      ...bookingOf(stay ? { ...stay, ospiti: guests } : gone(id, day)),
      ...line && { ospiti, numero_ospiti, ...dal && { dal } }
    }
    const places = placesOfRows(keys, own, guests.map((guest) => guestAt(day, guest)))
    const numbered = own.map((row, at) => ({ ...row, ospite: places[at]! }))
    for (const [reference, rows] of Map.groupBy(numbered, (row) => row.ricevuta)) {
      addOutcome(booking, { ricevuta: reference, stato: rows[0]!.stato, rows })
    }
    return booking
  })
}

/** An entry for a booking that was deleted after its guests were sent. */
function gone (id: number, check_in: Day) {
  return { id, nome_cognome: '', check_in, numero_notti: 0, numero_ospiti: 0, ospiti: [] }
}
