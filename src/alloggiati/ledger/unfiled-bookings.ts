import { inArray, sql } from 'drizzle-orm'
import { staysByArrival } from '#src/bookings/index.ts'
import type { Executor } from '#src/plugins/database/connect.ts'
import { addDays, type Day } from '#src/lib/time.ts'
import { filingDeadline } from '../deadlines.ts'
import type { State } from '#schemas/submission.ts'

/** Nothing is acquired yet, and may still be. */
export const OPEN_STATES: readonly State[] = ['pronto', 'preso', 'in_invio', 'sconosciuto', 'da_verificare']
/** The guests are with the police, one way or another. */
const FILED_STATES: readonly State[] = ['acquisito', 'ricevuto', 'depositato_altrove']

/** A booking whose guests have arrived, as far as is known, and of which nothing is acquired. */
export interface Unfiled {
  prenotazione: number
  scadenza: Date
  /** A submission of it is under way, or its outcome is unknown. */
  aperto: boolean
}

interface Row extends Record<string, unknown> { id: number, check_in: Day, numero_notti: number, aperto: boolean }

/** Bookings with arrival today or yesterday and no acquired submission, with the legal deadline of each. */
export async function unfiledBookings (db: Executor, account: string, today: Day): Promise<Unfiled[]> {
  const stays = staysByArrival(db, { from: addDays(today, -1), to: today }).as('p')
  const rows = await db.execute<Row>(sql`
    select p.id, p.check_in, p.numero_notti,
      coalesce(bool_or(${inArray(sql`i.stato`, [...OPEN_STATES])}), false) as aperto
    from ${stays} left join invii i on i.prenotazione_id = p.id and i.utente = ${account}
    group by p.id, p.check_in, p.numero_notti
    having not coalesce(bool_or(${inArray(sql`i.stato`, [...FILED_STATES])}), false)
    order by p.id`)
  return rows.map(({ id, check_in, numero_notti, aperto }) => ({
    prenotazione: id,
    scadenza: filingDeadline(check_in, numero_notti),
    aperto
  }))
}
