import { inArray, sql } from 'drizzle-orm'
import { FILED_STATES, UNFINISHED_STATES } from '#schemas/submission.ts'
import { staysByArrival } from '#src/bookings/index.ts'
import { addDays, type Day } from '#src/lib/time.ts'
import type { Executor } from '#src/plugins/database/connect.ts'
import { filingDeadline } from '../deadlines.ts'

/** A booking whose guests should have arrived, and whose guests are not with the police yet. */
export interface UnfiledBooking {
  bookingId: number
  /** The legal deadline. */
  deadline: Date
  /** One of its submissions may still be acquired. */
  hasUnfinished: boolean
}

interface Row extends Record<string, unknown> { id: number, check_in: Day, numero_notti: number, unfinished: boolean }

/** The bookings with arrival today or yesterday of which no submission is filed. */
export async function unfiledBookings (db: Executor, account: string, today: Day): Promise<UnfiledBooking[]> {
  const stays = staysByArrival(db, { from: addDays(today, -1), to: today }).as('p')
  const rows = await db.execute<Row>(sql`
    select p.id, p.check_in, p.numero_notti,
      coalesce(bool_or(${inArray(sql`i.stato`, UNFINISHED_STATES)}), false) as unfinished
    from ${stays} left join invii i on i.prenotazione_id = p.id and i.utente = ${account}
    group by p.id, p.check_in, p.numero_notti
    having not coalesce(bool_or(${inArray(sql`i.stato`, FILED_STATES)}), false)
    order by p.id`)
  return rows.map(({ id, check_in, numero_notti, unfinished }) => ({
    bookingId: id,
    deadline: filingDeadline(check_in, numero_notti),
    hasUnfinished: unfinished
  }))
}
