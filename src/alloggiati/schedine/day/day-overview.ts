import type { Segnalazione } from '#schemas/schedina.ts'
import { staysById } from '#src/bookings/index.ts'
import { countWithNoun } from '#src/lib/count-with-noun.ts'
import type { Day } from '#src/lib/time.ts'
import { findConflicts, readBookingRows } from '../../ledger/conflicts.ts'
import { guestAt } from '../../ledger/fingerprints.ts'
import { readRetryTimes } from '../../ledger/read-ledger.ts'
import { validateGuests, withReasons, type SchedineContext } from '../accept-schedine.ts'
import { chooseDue } from '../from-booking.ts'
import {
  comparedWithAccount, comparedWithSent, rowsOfLine, rowsIfAllSent, stateOfSent, type SentState
} from './compare-sent.ts'
import { bookingOf, placeIn, type DayBooking } from './day-booking.ts'
import { referencesOf, remark } from './day-remarks.ts'
import { readNeeds } from './account-needs.ts'
import { linesOf, type StayLine } from './stay-lines.ts'

/** The chosen bookings of an arrival day. */
export interface DayChoice {
  day: Day
  /** Undefined means all bookings of the day. */
  ids: readonly number[] | undefined
  /** The apartment of each booking that has one. */
  apartments: ReadonlyMap<number, number>
  /** The request names an apartment, so a booking without one is incomplete. */
  hasApartments: boolean
}

/** Reports the state of each chosen booking of a day. Writes no data. */
export async function dayOverview (
  context: SchedineContext,
  { day, ids, apartments, hasApartments }: DayChoice
): Promise<DayBooking[]> {
  const { accounts, keys, mode } = context
  const { db } = accounts.base
  const stays = await linesOf(accounts.base, day, ids)
  const rows = await readBookingRows(db, mode, day, stays.map(({ id }) => id))
  const rowsOf = Map.groupBy(rows, ({ prenotazione_id }) => prenotazione_id)
  const places = stays.flatMap((stay) => stay.ospiti.map((guest, ospite) =>
    ({ stay, ospite, guest: guestAt(day, guest) })))
  const guests = places.map(({ guest }) => guest)
  const conflicts = guests.length === 0 ? [] : await findConflicts(db, keys, mode, guests)
  const conflictsOf = Map.groupBy(conflicts, ({ duplicate }) => places[duplicate.ospite]!.stay)
  const placesOf = Map.groupBy(places, ({ stay }) => stay)
  const others = new Set(conflicts.flatMap(({ earlier }) => earlier?.prenotazione_id ?? []))
  const waiting = await readRetryTimes(db, referencesOf(rows))
  const otherStays = await staysById(db, [...others])
  const confirmed = new Set(otherStays.flatMap(({ id, stato }) => stato === 'confermata' ? id : []))
  const needs = await readNeeds(accounts, stays.map(({ id }) => id), day)
  const bookings: DayBooking[] = []
  for (const stay of stays) {
    const sentState: SentState = {
      stay,
      waiting,
      rows: rowsOfLine(keys, stay, rowsOf.get(stay.id) ?? []),
      guests: (placesOf.get(stay) ?? []).map(({ guest }) => guest),
      conflicts: (conflictsOf.get(stay) ?? []).map(({ duplicate, earlier, ...rest }) => ({
        ...rest,
        twinOf: duplicate.altro_ospite === undefined ? undefined : places[duplicate.altro_ospite]!.stay.id,
        duplicate: { ...duplicate, ospite: places[duplicate.ospite]!.ospite },
        // Rows of a deleted or cancelled booking are treated like rows without a booking.
        earlier: earlier && { ...earlier, prenotazione_id: idIfConfirmed(earlier.prenotazione_id) }
      }))
    }
    const sent = rowsIfAllSent(stay, sentState, day)
    bookings.push(sent === undefined
      ? comparedWithAccount(
        comparedWithSent(await judged(stay), keys, sentState),
        { rows: sentState.rows, account: needs.of(stay.id).account }
      )
      : { ...lineOf(stay), stato: stateOfSent(sent), ricevute: referencesOf(sent) })
  }
  return bookings.map(withPlaces)

  function idIfConfirmed (id: number | null): number | null {
    return id !== null && confirmed.has(id) ? id : null
  }

  async function judged (stay: StayLine): Promise<DayBooking> {
    const { id, check_in, numero_notti, ospiti, numero_ospiti, nights } = stay
    const { account, problem, before, ofUnit, hasApartments: needsOne } = needs.of(id)
    const id_appartamento = apartments.get(id) ?? ofUnit ?? (before.length === 1 ? before[0] : undefined)
    const { schedine, avvisi, places } = chooseDue(
      { ospiti: stay.all, check_in: stay.whole.check_in }, { day: check_in, places: stay.places })
    const { errors: found, warnings: given, accepted } = await validateGuests(
      context,
      schedine,
      { id, check_in, numero_notti, ...(id_appartamento === undefined ? {} : { id_appartamento }) },
      { nights }
    )
    const errors = withReasons(found, avvisi, places)
    const warnings = [...given, ...avvisi.map((each) => ({ ...each, ospite: places.indexOf(each.ospite) }))]
    const all = [
      ...withUnsaved(errors, ospiti.length, numero_ospiti),
      ...problem === undefined ? [] : [remark(0, ...problem)],
      ...(hasApartments || needsOne || before.length > 0) && id_appartamento === undefined
        ? [remark(0, 'id_appartamento', noApartment(id))]
        : []
    ]
    const line = { ...lineOf(stay), warnings }
    return all.length > 0 || account === undefined
      ? { ...line, stato: 'incompleta', errors: all }
      : { ...line, ready: accepted && { ...accepted, versione: stay.versione, account, id_appartamento } }
  }
}

/** Adds an error if guests are not saved yet. */
export function withUnsaved (errors: readonly Segnalazione[], saved: number, guests: number): Segnalazione[] {
  if (saved >= guests) return [...errors]
  const text = countWithNoun(saved, 'ospite salvato', 'ospiti salvati')
  return [...errors.filter(({ campo }) => campo !== 'ospiti'), remark(saved, 'ospiti', `${text} su ${guests}`)]
}

function lineOf (stay: StayLine): DayBooking {
  const { check_in: day, whole, places } = stay
  return { ...bookingOf(stay), ...day === whole.check_in ? {} : { dal: day }, places }
}

/** Replaces the index of each remark's guest with the guest's place in the booking. */
function withPlaces (booking: DayBooking): DayBooking {
  const placed = (remarks: readonly Segnalazione[]) =>
    remarks.map((each) => ({ ...each, ospite: placeIn(booking, each.ospite) }))
  return { ...booking, errors: placed(booking.errors), warnings: placed(booking.warnings) }
}

function noApartment (id: number): string {
  return 'Appartamento non indicato: indicare quello della prenotazione in «appartamenti», o inviarla da sola con ' +
    `id_appartamento (POST /api/v1/prenotazioni/${id}/invio)`
}
