import { asc, eq, or, sql } from 'drizzle-orm'
import { prenotazioni as t } from '#drizzle/tables/bookings.ts'
import { unita } from '#drizzle/tables/units.ts'
import type { Executor } from '#src/database/connect.ts'
import type { Day } from '#src/lib/time.ts'
import { withGuests, type StayWithGuests } from './stays.ts'

/** A stay that concerns a day, with its guests and its unit. */
export interface DayStay extends StayWithGuests {
  check_out: Day
  unita: { id: number, nome: string } | null
}

/**
 * The stays in any state that include the night of a day or depart on it, by arrival and id. Two statements read the
 * stays and all their guests.
 */
export async function staysOfDay (db: Executor, day: Day): Promise<DayStay[]> {
  const { id, nome_cognome, check_in, check_out, numero_notti, numero_ospiti, stato, versione } = t
  const stays = await db
    .select({
      id,
      nome_cognome,
      check_in,
      check_out,
      numero_notti,
      numero_ospiti,
      stato,
      versione,
      unita: { id: unita.id, nome: unita.nome }
    })
    .from(t)
    .leftJoin(unita, eq(unita.id, t.unita_id))
    // Two conditions, each with an index.
    .where(or(sql`daterange(${check_in}, ${check_out}, '[)') @> ${day}::date`, eq(check_out, day)))
    .orderBy(asc(check_in), asc(id))
    .prepare('stays_of_day').execute()
  return withGuests(db, stays)
}
