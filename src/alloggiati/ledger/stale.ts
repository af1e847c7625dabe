import { sql, type SQL } from 'drizzle-orm'
import { invii_decisioni as decisions } from '#drizzle/tables/decisions.ts'
import { invii, invii_schedine as schedine } from '#drizzle/tables/ledger.ts'
import { staysByArrival } from '#src/bookings/index.ts'
import type { Executor } from '#src/database/connect.ts'

/**
 * The bookings of the submission whose nights or guests have changed since it was written down, or a person decided to
 * send it again: its rows may not be what the host wants to communicate any more. Guests that are saved again as they
 * were count too.
 */
export function changedBookings (db: Executor): SQL<number[]> {
  const stays = staysByArrival(db, {}).as('p')
  return sql<number[]>`(
    select coalesce(json_agg(distinct p.id order by p.id), '[]')
    from ${schedine} s join ${stays} on p.id = s.prenotazione_id
    where s.invio_id = ${invii}.id and s.esito = 'in_corso' and p.schedine_cambiate_il > greatest(${invii}.creato_il,
      (select max(d.quando) from ${decisions} d where d.invio_id = ${invii}.id))
  )`
}
