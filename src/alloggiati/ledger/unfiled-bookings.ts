import { sql } from 'drizzle-orm'
import { staysDuring } from '#src/bookings/index.ts'
import { addDays, type Day } from '#src/lib/time.ts'
import { filingDeadline, NIGHTS_OF_A_SCHEDINA } from '../deadlines.ts'
import { closerLook } from './closer-look.ts'
import { communicatedGuests } from './guest-counts.ts'
import type { Comparison, SentRow } from './sent-rows.ts'

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
  check_in: Day
  from: Day
  numero_notti: number
  numero_ospiti: number
}

const isFiled = ({ esito, isUnfinished }: SentRow) =>
  !isUnfinished && (esito === 'acquisita' || esito === 'depositata')

/**
 * The bookings with arrival today or yesterday of which fewer guests are with the police than the booking says. A stay
 * of more than 30 nights is due again on its 31st day, and so on: a schedina says 30 nights at most.
 */
export async function unfiledBookings (comparison: Comparison): Promise<UnfiledBooking[]> {
  const { db, mode, today } = comparison
  const yesterday = addDays(today, -1)
  const stays = staysDuring(db, { from: yesterday, to: today }).as('p')
  const rows = await db.execute<Row>(sql`
    select p.id, p.check_in::text as check_in, d.arrivo::text as "from", p.numero_notti, p.numero_ospiti
    from ${stays}
    join (values (${yesterday}::date), (${today}::date)) d (arrivo)
      on d.arrivo >= p.check_in and d.arrivo < p.check_in + p.numero_notti
        and (d.arrivo - p.check_in) % ${NIGHTS_OF_A_SCHEDINA}::int = 0
    where ${communicatedGuests({ mode, from: sql`d.arrivo` })} < p.numero_ospiti
    order by d.arrivo, p.id`)
  const looked = await closerLook(comparison)(rows, ({ id, from, numero_notti, numero_ospiti }, count) => ({
    bookingId: id,
    arrival: from,
    deadline: filingDeadline(from, numero_notti),
    missing: numero_ospiti - count(isFiled),
    isUnattended: count((row) => row.isUnfinished || isFiled(row)) < numero_ospiti
  }))
  return looked.filter(({ missing }) => missing > 0)
}
