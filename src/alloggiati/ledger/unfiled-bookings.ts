import { and, inArray, notInArray, sql } from 'drizzle-orm'
import { FILED_ROW_OUTCOMES, isFiled, UNFINISHED_STATES } from '#schemas/submission.ts'
import { staysDuring } from '#src/bookings/index.ts'
import { addDays, daysBetween, type Day } from '#src/lib/time.ts'
import { filingDeadline } from '../deadlines.ts'
import { stayComparer } from './coverage.ts'
import type { Comparison } from './coverage-rows.ts'
import { scopeOf } from './read-ledger.ts'
import { arrivalsOf, departureOf, firstUndeclared, type ComparedStay, type Stay } from './stay-nights.ts'

/** A booking with guests whom the police does not have yet. */
interface UnfiledBooking {
  bookingId: number
  /** The arrival day in the records to send: the guests' arrival, or the first undeclared night. */
  arrival: Day
  deadline: Date
  /** Number of guests who are neither acquired nor filed through another channel, by a finished submission. */
  missing: number
  /** Number of missing guests who are in no unfinished submission. */
  unsent: number
  /** The guests were declared before, and now stay longer. */
  isProlonged: boolean
}

/**
 * Finds confirmed stays with too few current rows for the guests of one of these nights. Nearly all stays have enough
 * rows. Only the others need to be compared guest by guest.
 */
export function underdeclaredStays ({ db, mode }: Comparison, { from, to }: { from: Day, to: Day }) {
  const stays = staysDuring(db, { from, to }).as('p')
  return db.execute<Stay & { nome_cognome: string } & Record<string, unknown>>(sql`
    select p.id, p.nome_cognome, p.check_in::text as check_in, p.numero_notti, p.numero_ospiti
    from ${stays}
    where exists (
      select from generate_series(
        greatest(0, ${from}::date - p.check_in), least(p.numero_notti - 1, ${to}::date - p.check_in)
      ) n
      where p.numero_ospiti > (
        select count(*) from invii_schedine s join invii i on i.id = s.invio_id
        where s.prenotazione_id = p.id and i.creato_il >= p.schedine_cambiate_il
          and i.data_arrivo <= p.check_in + n and i.data_arrivo + s.permanenza > p.check_in + n
          and ${and(
            scopeOf(mode, sql`i.utente`),
            inArray(sql`s.esito`, FILED_ROW_OUTCOMES),
            notInArray(sql`i.stato`, UNFINISHED_STATES)
          )}
      )
    )
    order by p.check_in, p.id`)
}

/**
 * Finds bookings with guests whom the police does not have: the arrival is today or yesterday, or one of these nights
 * is not declared. A schedina covers 30 nights at most, so longer stays are due again.
 */
export async function unfiledBookings (comparison: Comparison): Promise<UnfiledBooking[]> {
  const { today } = comparison
  const yesterday = addDays(today, -1)
  const due = await underdeclaredStays(comparison, { from: yesterday, to: today })
  const unfiled = await stayComparer(comparison)(due, (stay, compared) => {
    const { withoutRow, unfiled: later } = prolonged(stay, compared, { from: yesterday, to: today })
    const arriving = arrivalsOf(compared).filter(({ day }) => day === yesterday || day === today)
    return [
      ...arriving.map(({ day, nights, guests, count }) => {
        const expected = guests - withoutRow.filter((arrival) => arrival === day).length
        return {
          bookingId: stay.id,
          arrival: day,
          deadline: filingDeadline(day, nights),
          missing: expected - count((row) => !row.isUnfinished && isFiled(row.esito)),
          unsent: expected - count((row) => row.isUnfinished || isFiled(row.esito)),
          isProlonged: false
        }
      }),
      ...later
    ]
  })
  return unfiled.flat().filter(({ missing }) => missing > 0)
    .toSorted((one, other) => one.arrival === other.arrival ? 0 : one.arrival < other.arrival ? -1 : 1)
}

function prolonged (
  stay: Stay, compared: ComparedStay, nights: { from: Day, to: Day }
): { unfiled: UnfiledBooking[], withoutRow: readonly Day[] } {
  const found = firstUndeclared(compared, nights, (row) => !row.isUnfinished && isFiled(row.esito))
  if (found === undefined) return { unfiled: [], withoutRow: [] }
  const { night, guests, withoutRow } = found
  const open = firstUndeclared(compared, { from: night, to: night }, (row) => row.isUnfinished || isFiled(row.esito))
  const unfiled = [{
    bookingId: stay.id,
    arrival: night,
    deadline: filingDeadline(night, daysBetween(night, departureOf(stay))),
    missing: guests,
    unsent: open?.guests ?? 0,
    isProlonged: true
  }]
  return { unfiled, withoutRow }
}
