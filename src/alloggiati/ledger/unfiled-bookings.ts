import { sql } from 'drizzle-orm'
import { staysDuring } from '#src/bookings/index.ts'
import { addDays, type Day } from '#src/lib/time.ts'
import type { Executor } from '#src/plugins/database/connect.ts'
import { filingDeadline, NIGHTS_OF_A_SCHEDINA } from '../deadlines.ts'
import { communicatedGuests } from './guest-counts.ts'

/** A booking whose guests should have arrived, and of whom some are not with the police yet. */
export interface UnfiledBooking {
  bookingId: number
  /** The day that they are due for: the arrival, or the day from which a long stay is due again. */
  arrival: Day
  /** The legal deadline. */
  deadline: Date
  /** Guests who are not acquired, nor filed by another way. */
  missing: number
  /** Some of them are in no submission that may still be acquired. */
  isUnattended: boolean
}

interface Row extends Record<string, unknown> {
  id: number
  arrivo: Day
  numero_notti: number
  mancanti: number
  aperti: number
}

/**
 * The bookings with arrival today or yesterday of which fewer guests are with the police than the booking says. A stay
 * of more than 30 nights is due again on its 31st day, and so on: a schedina says 30 nights at most.
 */
export async function unfiledBookings (
  db: Executor,
  mode: 'sandbox' | 'production',
  today: Day
): Promise<UnfiledBooking[]> {
  const yesterday = addDays(today, -1)
  const stays = staysDuring(db, { from: yesterday, to: today }).as('p')
  const counts = communicatedGuests({
    mode,
    booking: sql`p.id`,
    arrivals: sql`i.data_arrivo < d.arrivo + ${NIGHTS_OF_A_SCHEDINA}::int
      and (d.arrivo = p.check_in or i.data_arrivo >= d.arrivo)`
  })
  const rows = await db.execute<Row>(sql`
    select p.id, d.arrivo::text as arrivo, p.numero_notti, p.numero_ospiti - c.comunicati as mancanti, c.aperti
    from ${stays}
    join (values (${yesterday}::date), (${today}::date)) d (arrivo)
      on d.arrivo >= p.check_in and d.arrivo < p.check_in + p.numero_notti
        and (d.arrivo - p.check_in) % ${NIGHTS_OF_A_SCHEDINA}::int = 0
    cross join lateral ${counts} c
    where c.comunicati < p.numero_ospiti
    order by d.arrivo, p.id`)
  return rows.map(({ id, arrivo, numero_notti, mancanti, aperti }) => ({
    bookingId: id,
    arrival: arrivo,
    deadline: filingDeadline(arrivo, numero_notti),
    missing: mancanti,
    isUnattended: aperti < mancanti
  }))
}
