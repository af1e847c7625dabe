import type { DayState } from '#schemas/giornata.ts'
import { isUnderWay, isUnresolved, type RowOutcome, type State } from '#schemas/submission.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Day } from '#src/lib/time.ts'
import { isOtherPeriod, peakOfRows, type BookingRow, type Conflict } from '../../ledger/conflicts.ts'
import { guestAt, type Guest } from '../../ledger/fingerprints.ts'
import { assignGuests, rowsBeforeArrival, unmatchedRows } from '../../ledger/sent-guests.ts'
import { elsewhereText, SchedineInCorso } from '../../sent-errors.ts'
import type { DayBooking } from './day-booking.ts'
import { ALONE, changedText, conflictRemark, LEFT_OUT, movedTexts, referencesOf, remark } from './day-remarks.ts'
import type { StayLine } from './stay-lines.ts'

/** A live row: its outcome, and the state of its submission. */
interface Sent { ricevuta: string, stato: State, esito: RowOutcome }

/** The rows and conflicts of a booking's saved guests. */
export interface SentState {
  /** Retry times of the day's waiting submissions. */
  waiting: ReadonlyMap<string, Date>
  /** The live rows of the booking around the arrival day. */
  rows: readonly BookingRow[]
  /** Saved guests with a live row for this arrival in any booking, or with a twin among the guests of the day. */
  conflicts: readonly (Conflict & { twinOf: number | undefined })[]
  guests: readonly Guest[]
  stay: StayLine
}

/** The rows of the guests in a line, without rows of other arrivals or other nights. */
export function rowsOfLine (
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

/**
 * The rows of a completely sent booking, else undefined. Every saved guest must have a row, and the saved guests or the
 * rows must reach the booking's number of guests.
 */
export function rowsIfAllSent (
  { id, numero_ospiti }: StayLine, { rows, guests, conflicts }: SentState, day: Day
): readonly Sent[] | undefined {
  const ofDay = rows.filter(({ data_arrivo }) => data_arrivo === day)
  const own = ownRows(id, conflicts)
  const isEachSent = guests.every((_, ospite) => own.some((one) => one.ospite === ospite))
  const isEnough = ofDay.length >= numero_ospiti || guests.length >= numero_ospiti
  return isEachSent && isEnough ? [...own, ...ofDay] : undefined
}

/** The rows of the saved guests that belong to this booking or to none, each with the index of its guest. */
function ownRows (id: number, conflicts: readonly Conflict[]): (Sent & { ospite: number })[] {
  return conflicts.flatMap(({ duplicate: { ospite, ricevuta, stato, motivo }, earlier }) =>
    motivo === 'stessa_persona' && ricevuta !== null && stato !== null && earlier !== null &&
      [id, null].includes(earlier.prenotazione_id)
      ? { ospite, ricevuta, stato, esito: earlier.esito }
      : [])
}

/** The state of a booking whose guests were or are being sent. */
export function stateOfSent (rows: readonly Pick<Sent, 'stato' | 'esito'>[]): DayState {
  const open = rows.filter(({ esito }) => isUnresolved(esito))
  if (open.some(({ stato }) => isUnderWay(stato))) return 'in_corso'
  return open.length > 0 ? 'sconosciuta' : 'gia_inviata'
}

/** Compares a booking with its sent rows and, if it passed the rules, with the conflicts of its guests. */
export function comparedWithSent (
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
  const { areMore, tooMany } = excessOf(keys, { stay, rows: before, guests }, unsent)
  const ofArrival = before.filter(({ data_arrivo }) => data_arrivo === guests[0]?.data_arrivo)
  const unmatched = unmatchedRows(keys, ofArrival, guests)
  if (conflicting.size === 0 && !tooMany && unmatched.length === 0) return booking
  const blocked = { ...booking, ready: null, ricevute: referencesOf([...rows, ...before]) }
  // A row without a booking belongs to this booking only if the person matches. A matching document is not enough.
  const ofOthers = conflicts.filter(({ duplicate: { motivo }, earlier }) =>
    earlier?.prenotazione_id !== prenotazione_id &&
      !(earlier?.prenotazione_id === null && motivo === 'stessa_persona'))
  const areOwn = ofOthers.length === 0
  if (areOwn && unsent.length === 0 && unmatched.length === 0) {
    return { ...blocked, stato: stateOfSent(rows), warnings: [] }
  }
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

/** Requires a confirmation for a booking that could be sent, if some of its guests were sent with another account. */
export function comparedWithAccount (
  booking: DayBooking, { rows, account }: { rows: readonly BookingRow[], account: string | undefined }
): DayBooking {
  const { prenotazione_id, stato, ricevute, errors } = booking
  const elsewhere = rows.find(({ utente }) => utente !== account)
  const isSendable = booking.ready !== null || stato === 'parziale' || stato === 'da_confermare'
  if (elsewhere === undefined || !isSendable) return booking
  const text = remark(0, 'unita_id', `${elsewhereText({ ...elsewhere, prenotazione_id })}: ${ALONE}`)
  return {
    ...booking,
    ready: null,
    stato: 'da_confermare',
    ricevute: [...new Set([...ricevute, ...referencesOf(rows)])],
    errors: [...stato === 'da_confermare' ? errors : [], text]
  }
}

/** `areMore`: unsent guests would exceed the booking's number. `tooMany`: also if one was sent with another arrival. */
function excessOf (
  keys: Keys,
  { stay: { check_in, whole, nights, numero_ospiti }, rows, guests }: Pick<SentState, 'stay' | 'rows' | 'guests'>,
  unsent: readonly number[]
): { areMore: boolean, tooMany: boolean } {
  const sent = assignGuests(keys, rows, guests)
  const adding = unsent.map((place) => (
    { data_arrivo: check_in, permanenza: nights[place]!, guest: guests[place]! }))
  const areMore = peakOfRows([...sent, ...adding], check_in, whole) > numero_ospiti
  return { areMore, tooMany: areMore || sent.some((row) => adding.some(({ guest }) => guest === row.guest)) }
}
