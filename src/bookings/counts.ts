import type postgres from 'postgres'
import type { Day } from '#src/lib/time.ts'

/* Numbers of bookings that other areas show. Each is one statement, which the driver prepares once a connection. */

/** What a day brings. */
export interface DayCounts {
  arrivals: number
  departures: number
  /** The main guest of the next arrival, on that day or later; null when no arrival follows. */
  next_guest: string | null
}

/** Arrivals and departures of a day, and who comes next. */
export async function countDay (sql: postgres.Sql, day: Day): Promise<DayCounts> {
  const [row] = await sql<[DayCounts]>`
    select
      (select count(*) from prenotazioni where check_in = ${day}::date)::int as arrivals,
      (select count(*) from prenotazioni where check_out = ${day}::date)::int as departures,
      (
        select nome_cognome from prenotazioni where check_in >= ${day}::date order by check_in, id limit 1
      ) as next_guest`
  return row
}

/** The countries that most bookings come from, by number of bookings; at most `limit`. */
export async function countByCountry (
  sql: postgres.Sql,
  limit: number
): Promise<{ paese_id: number, totale: number }[]> {
  return await sql<{ paese_id: number, totale: number }[]>`
    select paese_id, totale from prenotazioni_per_paese where totale > 0 order by totale desc, paese_id limit ${limit}`
}
