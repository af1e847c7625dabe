import type { DayState, PrenotazioneDellaGiornata } from '#schemas/giornata.ts'
import type { Segnalazione } from '#schemas/schedina.ts'
import { FILED_STATES, isUnderWay, isUnresolved, type RowOutcome, type State } from '#schemas/submission.ts'
import { apartmentsOfUnits, staysById, type StayWithGuests } from '#src/bookings/index.ts'
import { countWithNoun } from '#src/lib/count-with-noun.ts'
import { dayWithArticle } from '#src/lib/day-with-article.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Day } from '#src/lib/time.ts'
import { SchedineInCorso, namedReceipts } from '../../sent-errors.ts'
import {
  findConflicts, isOtherPeriod, peakOfRows, readBookingRows, type BookingRow, type Conflict
} from '../../ledger/conflicts.ts'
import type { LedgerContext } from '../../ledger/ledger-context.ts'
import { sentApartments, usesApartments } from '../../ledger/sent-apartments.ts'
import { guestAt, type Guest } from '../../ledger/fingerprints.ts'
import { readWaiting } from '../../ledger/read-ledger.ts'
import { rowsBeforeArrival, unmatchedRows, withGuests } from '../../ledger/sent-guests.ts'
import type { AcceptedList } from '../../rules/validate.ts'
import { validateGuests, withReasons, type SchedineContext } from '../accept-schedine.ts'
import { chooseDue } from '../from-booking.ts'
import { linesOf, type StayLine } from './stay-lines.ts'

/** A booking of the day, with the guests that can be sent. They are null unless it is `pronta`. */
export interface DayBooking extends PrenotazioneDellaGiornata {
  nights: number
  /** Each guest's place in the booking. Undefined if the line has all guests. */
  places?: readonly number[]
  /** Includes the version of the booking when its guests were read. */
  ready: AcceptedList & { versione: number, id_appartamento?: number | undefined } | null
}

/** A live row: its outcome, and the state of its submission. */
interface Sent { ricevuta: string, stato: State, esito: RowOutcome }

/** The rows and conflicts of a booking's saved guests. */
interface SentState {
  /** Retry times of the day's waiting submissions. */
  waiting: ReadonlyMap<string, Date>
  /** The live rows of the booking around the arrival day. */
  rows: readonly BookingRow[]
  /** Saved guests with a live row for this arrival, sent for any booking. */
  conflicts: readonly (Conflict & { twinOf: number | undefined })[]
  guests: readonly Guest[]
  stay: StayLine
}

/** The chosen bookings of an arrival day; undefined means all. */
export interface DayChoice {
  day: Day
  ids: readonly number[] | undefined
  /** The apartment of each booking that has one. */
  apartments: ReadonlyMap<number, number>
  /** The account manages apartments, so a booking without one is not sent. */
  hasApartments: boolean
}

/** Reports the bookings of a day: ready, incomplete or already sent. Writes no data. */
export async function dayOverview (
  context: SchedineContext,
  ledger: LedgerContext,
  { day, ids, apartments, hasApartments }: DayChoice
): Promise<DayBooking[]> {
  const { db, keys, service: { account } } = ledger
  const stays = await linesOf(ledger, day, ids)
  const rows = await readBookingRows(db, account, day, stays.map(({ id }) => id))
  const rowsOf = Map.groupBy(rows, ({ prenotazione_id }) => prenotazione_id)
  const places = stays.flatMap((stay) => stay.ospiti.map((guest, ospite) =>
    ({ stay, ospite, guest: guestAt(day, guest) })))
  const guests = places.map(({ guest }) => guest)
  const conflicts = guests.length === 0 ? [] : await findConflicts(db, keys, account, guests)
  const conflictsOf = Map.groupBy(conflicts, ({ duplicate }) => places[duplicate.ospite]!.stay)
  const placesOf = Map.groupBy(places, ({ stay }) => stay)
  const others = new Set(conflicts.flatMap(({ earlier }) => earlier?.prenotazione_id ?? []))
  const waiting = await readWaiting(db, referencesOf(rows))
  const otherStays = await staysById(db, [...others])
  const confirmed = new Set(otherStays.flatMap(({ id, stato }) => stato === 'confermata' ? id : []))
  const sentWith = await sentApartments(db, account, stays.map(({ id }) => id))
  const ofUnits = await apartmentsOfUnits(db, stays.map(({ id }) => id))
  const needApartments = hasApartments || ofUnits.size > 0 || await usesApartments(db, account, day)
  const bookings: DayBooking[] = []
  for (const stay of stays) {
    const sentState: SentState = {
      stay,
      waiting,
      rows: concerning(keys, stay, rowsOf.get(stay.id) ?? []),
      guests: (placesOf.get(stay) ?? []).map(({ guest }) => guest),
      conflicts: (conflictsOf.get(stay) ?? []).map(({ duplicate, earlier, ...rest }) => ({
        ...rest,
        twinOf: duplicate.altro_ospite === undefined ? undefined : places[duplicate.altro_ospite]!.stay.id,
        duplicate: { ...duplicate, ospite: places[duplicate.ospite]!.ospite },
        // Rows of a deleted or cancelled booking are treated like rows without a booking.
        earlier: earlier && { ...earlier, prenotazione_id: idIfConfirmed(earlier.prenotazione_id) }
      }))
    }
    const sent = sentBefore(stay, sentState, day)
    bookings.push(sent === undefined
      ? comparedWithSent(await judged(stay), keys, sentState)
      : { ...lineOf(stay), stato: stateOfSent(sent), ricevute: referencesOf(sent) })
  }
  return bookings.map(withPlaces)

  function idIfConfirmed (id: number | null): number | null {
    return id !== null && confirmed.has(id) ? id : null
  }

  async function judged (stay: StayLine): Promise<DayBooking> {
    const { id, check_in, numero_notti, ospiti, numero_ospiti, nights } = stay
    const before = sentWith.get(id) ?? []
    const id_appartamento = apartments.get(id) ?? ofUnits.get(id) ?? (before.length === 1 ? before[0] : undefined)
    const { schedine, avvisi, places } = chooseDue(
      { ospiti: stay.all, check_in: stay.whole.check_in }, { day: check_in, places: stay.places })
    const { errors: found, accepted } = await validateGuests(
      context,
      schedine,
      { id, check_in, numero_notti, ...(id_appartamento === undefined ? {} : { id_appartamento }) },
      { nights }
    )
    const errors = withReasons(found, avvisi, places)
    const saved = countWithNoun(ospiti.length, 'ospite salvato', 'ospiti salvati')
    const missing = remark(ospiti.length, 'ospiti', `${saved} su ${numero_ospiti}`)
    const all = [
      ...ospiti.length < numero_ospiti ? [...errors.filter(({ campo }) => campo !== 'ospiti'), missing] : errors,
      ...(needApartments || before.length > 0) && id_appartamento === undefined
        ? [remark(0, 'id_appartamento', noApartment(id))]
        : []
    ]
    return all.length > 0
      ? { ...lineOf(stay), stato: 'incompleta', errors: all }
      : { ...lineOf(stay), ready: accepted && { ...accepted, versione: stay.versione, id_appartamento } }
  }
}

function lineOf (stay: StayLine): DayBooking {
  const { check_in: day, whole, places } = stay
  return { ...bookingOf(stay), ...day === whole.check_in ? {} : { dal: day }, places }
}

/** Replaces the index of each remark's guest by the guest's place in the booking. */
function withPlaces (booking: DayBooking): DayBooking {
  return {
    ...booking,
    errors: booking.errors.map((each) => ({ ...each, ospite: placeIn(booking, each.ospite) }))
  }
}

/** The place in the booking of a guest in a line. */
export function placeIn ({ places }: Pick<DayBooking, 'places'>, ospite: number): number {
  return places?.[ospite] ?? ospite
}

/** The rows of the guests in a line, without those of other arrivals or other nights. */
function concerning (
  keys: Keys, { check_in, numero_notti, places, all, whole }: StayLine, rows: readonly BookingRow[]
): BookingRow[] {
  const saved = all.map((guest) => guestAt(check_in, guest))
  const corrected = rowsBeforeArrival(keys, rows, saved)
  const record = { data_arrivo: check_in, permanenza: numero_notti }
  const notDue = unmatchedRows(keys, rows, places.map((place) => saved[place]!))
  const ofOthers = new Set(places.length === all.length ? [] : notDue)
  for (const stranger of unmatchedRows(keys, rows, saved)) ofOthers.delete(stranger)
  return rows.filter((row) => !ofOthers.has(row) && (corrected.has(row) || !isOtherPeriod(row, record, whole)))
}

function noApartment (id: number): string {
  return 'Appartamento non indicato: indicare quello della prenotazione in «appartamenti», o inviarla da sola con ' +
    `id_appartamento (POST /api/v1/prenotazioni/${id}/invio)`
}

export function bookingOf (
  { id, nome_cognome, numero_notti, ospiti, numero_ospiti }: Omit<StayWithGuests, 'stato' | 'versione'>
): DayBooking {
  return {
    prenotazione_id: id,
    nome_cognome,
    stato: 'pronta',
    ospiti: ospiti.length,
    numero_ospiti,
    ricevute: [],
    errors: [],
    schedine: [],
    nights: numero_notti,
    ready: null
  }
}

/**
 * The rows of a completely sent booking, else undefined. All its saved guests are or may be filed, and as many guests
 * as the booking has. Without saved guests only the rows are counted.
 */
function sentBefore (
  { id, numero_ospiti }: StayLine, { rows, guests, conflicts }: SentState, day: Day
): readonly Sent[] | undefined {
  const ofDay = rows.filter(({ data_arrivo }) => data_arrivo === day)
  const own = ownRows(id, conflicts)
  const isEachSent = guests.every((_, ospite) => own.some((one) => one.ospite === ospite))
  const isEnough = ofDay.length >= numero_ospiti || guests.length >= numero_ospiti
  return isEachSent && isEnough ? [...own, ...ofDay] : undefined
}

/** The rows of the saved guests, sent for this booking or without one, each with its guest. */
function ownRows (id: number, conflicts: readonly Conflict[]): (Sent & { ospite: number })[] {
  return conflicts.flatMap(({ duplicate: { ospite, ricevuta, stato, motivo }, earlier }) =>
    motivo === 'stessa_persona' && ricevuta !== null && stato !== null && earlier !== null &&
      [id, null].includes(earlier.prenotazione_id)
      ? { ospite, ricevuta, stato, esito: earlier.esito }
      : [])
}

/** The state of a booking whose guests were or are being sent. */
function stateOfSent (rows: readonly Sent[]): DayState {
  const open = rows.filter(isOpen)
  if (open.some(({ stato }) => isUnderWay(stato))) return 'in_corso'
  return open.length > 0 ? 'sconosciuta' : 'gia_inviata'
}

function isOpen ({ esito }: Pick<Sent, 'esito'>): boolean {
  return isUnresolved(esito)
}

/** Compares a booking with its sent rows and, if it passed the rules, with the conflicts of its guests. */
function comparedWithSent (
  booking: DayBooking, keys: Keys, { stay, waiting, rows: before, guests, conflicts }: SentState
): DayBooking {
  if (booking.ready === null) {
    const sent = [...ownRows(booking.prenotazione_id, conflicts), ...before]
    return { ...booking, ricevute: referencesOf(sent) }
  }
  const { prenotazione_id, ospiti, numero_ospiti } = booking
  const conflicting = new Set(conflicts.map(({ duplicate }) => duplicate.ospite))
  const rows = conflicts.flatMap(({ duplicate: { ricevuta, stato }, earlier }) =>
    ricevuta === null || stato === null || earlier === null ? [] : { ricevuta, stato, ...earlier })
  const unsent = Array.from({ length: ospiti }, (_, ospite) => ospite).filter((ospite) => !conflicting.has(ospite))
  const { areMore, tooMany } = crowding(keys, { stay, rows: before, guests }, unsent)
  const ofArrival = before.filter(({ data_arrivo }) => data_arrivo === guests[0]?.data_arrivo)
  const unmatched = unmatchedRows(keys, ofArrival, guests)
  if (conflicting.size === 0 && !tooMany && unmatched.length === 0) return booking
  const blocked = { ...booking, ready: null, ricevute: referencesOf([...rows, ...before]) }
  // A row without a booking belongs to this booking only if the person matches, not if only the document does.
  const ofOthers = conflicts.filter(({ duplicate: { motivo }, earlier }) =>
    earlier?.prenotazione_id !== prenotazione_id &&
      !(earlier?.prenotazione_id === null && motivo === 'stessa_persona'))
  const areOwn = ofOthers.length === 0
  if (areOwn && unsent.length === 0 && unmatched.length === 0) return { ...blocked, stato: stateOfSent(rows) }
  if (areOwn && !tooMany && unmatched.length === 0) {
    return { ...blocked, stato: 'parziale', errors: unsent.map((ospite) => remark(ospite, 'ospiti', LEFT_OUT)) }
  }
  const open = (tooMany ? before : unmatched).find(({ stato }) => isUnderWay(stato))
  if (open !== undefined) {
    // Not `in_corso`, which counts as success: these guests are not being sent yet.
    const { message } = new SchedineInCorso(open.ricevuta, open.stato, { waitsUntil: waiting.get(open.ricevuta) })
    return { ...blocked, stato: 'da_confermare', errors: [remark(0, 'ospiti', message)] }
  }
  const errors = [
    ...ofOthers.map(({ duplicate, certain, twinOf }) => conflictRemark(duplicate, !certain, twinOf)),
    ...areMore ? [remark(0, 'ospiti', `Con questo invio sarebbero più di ${numero_ospiti}`)] : [],
    ...unmatched.length > 0 ? [remark(0, 'ospiti', changedText(unmatched))] : [],
    ...movedTexts(before, guests).map((text) => remark(0, 'check_in', text))
  ]
  return { ...blocked, stato: 'da_confermare', errors }
}

/** Whether the unsent guests would exceed the booking's number of guests, or were sent with another arrival. */
function crowding (
  keys: Keys,
  { stay: { check_in, whole, nights, numero_ospiti }, rows, guests }: Pick<SentState, 'stay' | 'rows' | 'guests'>,
  unsent: readonly number[]
): { areMore: boolean, tooMany: boolean } {
  const sent = withGuests(keys, rows, guests)
  const adding = unsent.map((place) => (
    { data_arrivo: check_in, permanenza: nights[place]!, guest: guests[place]! }))
  const areMore = peakOfRows([...sent, ...adding], check_in, whole) > numero_ospiti
  return { areMore, tooMany: areMore || sent.some((row) => adding.some(({ guest }) => guest === row.guest)) }
}

const LEFT_OUT = 'La prenotazione è stata inviata in parte: inviare il resto con solo_mancanti'

const ALONE = 'la prenotazione va inviata da sola, con una conferma'

function changedText (unmatched: readonly Sent[]): string {
  const perhaps = unmatched.some(isOpen) ? 'forse ' : ''
  return `Con ${namedReceipts(referencesOf(unmatched))} sono stati inviati ospiti ora non fra quelli salvati: se ` +
    `sono stati corretti, ${perhaps}sono già comunicati; altrimenti ${ALONE}`
}

/** Texts about rows sent with another arrival: the booking was moved, or guests arrived on another day. */
function movedTexts (before: readonly BookingRow[], guests: readonly Guest[]): string[] {
  const moved = before.filter(({ data_arrivo }) => data_arrivo !== guests[0]?.data_arrivo)
  return [...Map.groupBy(moved, ({ data_arrivo }) => data_arrivo)].map(([day, rows]) => {
    const sent = rows.some(isOpen) ? 'Già inviata, o di esito sconosciuto,' : 'Già inviata'
    const arrival = `l’arrivo ${dayWithArticle('del', day)}`
    return `${sent} con ${arrival} (${namedReceipts(referencesOf(rows))}): per comunicare anche questo ` +
      `arrivo ${ALONE}`
  })
}

/**
 * The remark on a guest who may have been sent before.
 * @param confirmable whether a confirmation lifts the conflict, because it may be another guest
 * @param twinOf the booking of another unsent guest of the day with the same data
 */
export function conflictRemark (
  { ospite, ricevuta, stato, motivo }: Conflict['duplicate'], confirmable: boolean, twinOf: number | undefined
): Segnalazione {
  const [campo, what]: [string, string] =
    motivo === 'stessa_persona' ? ['cognome', 'Stessa persona'] : ['numero_documento', 'Stesso documento']
  const where = ricevuta === null
    ? `di un altro ospite della giornata (prenotazione ${twinOf})`
    : `della ricevuta ${ricevuta}`
  const double = stato === null
    ? 'una delle due prenotazioni è forse un doppione'
    : `${statusOf(stato)}, e questa prenotazione è forse un doppione`
  return remark(ospite, campo, `${what} ${where}: ${confirmable ? ALONE : double}`)
}

/** Describes a live row by the state of its submission. */
function statusOf (stato: State): string {
  if (isUnderWay(stato)) return 'è in corso di invio'
  const isAcquired = [...FILED_STATES, 'parziale'].some((each) => each === stato)
  return isAcquired ? 'è già comunicata' : 'è di esito sconosciuto'
}

export function remark (ospite: number, campo: string, messaggio: string): Segnalazione {
  return { ospite, campo, messaggio }
}

function referencesOf (rows: readonly { ricevuta: string }[]): string[] {
  return [...new Set(rows.map(({ ricevuta }) => ricevuta))]
}
