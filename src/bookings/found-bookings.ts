import { and, eq, or, sql, type SQL, type SQLWrapper } from 'drizzle-orm'
import { ospiti, prenotazioni as t } from '#drizzle/tables/bookings.ts'
import type { Executor } from '#src/database/connect.ts'
import { isTooLong } from './booking-search.ts'
import { hasWords } from './search-terms.ts'

/** For each row of a page, the list scans this many bookings in its order before it uses the search index. */
const READ_PER_ROW = 20
const MIN_READ = 1000
/** Maximum matches by booking, and by guest, in a count that the caller did not request. */
const COUNTED = 1000

/** The text, the other conditions, and the order of the list. */
export interface Search { q: string, given: (SQL | undefined)[], order: SQL[] }

/** Condition: a booking is one of the `rows` first matches among the first bookings of the list. */
export function isAmongFirst ({ q, given, order }: Search, rows: number): SQL {
  const read = Math.max(MIN_READ, rows * READ_PER_ROW)
  const ordered = sql.join(order, sql`, `)
  // Because of the offset, PostgreSQL does not search the guests of all bookings.
  const ofGuest = sql`exists (
    select from ${ospiti} where ${ospiti.prenotazione_id} = ${t.id} and ${ofGuests(q)} offset 0)`
  return sql`${t.id} in (
    select id from (select * from ${t} where ${and(...given) ?? sql`true`} order by ${ordered} limit ${read}) as ${t}
    where ${or(ofBookings(q), ofGuest)} order by ${ordered} limit ${rows})`
}

/** Condition: a booking is one of the `rows` first matches. PostgreSQL then builds JSON only for these. */
export function isFirst ({ q, given, order }: Search, rows: number): SQL {
  const found = and(isFound(q), ...given)
  return sql`${t.id} in (select id from ${t} where ${found} order by ${sql.join(order, sql`, `)} limit ${rows})`
}

/** Condition: a booking, or one of its guests, contains the words of `q`. */
function isFound (q: string): SQL {
  return sql`${t.id} in (select id from ${t} where ${ofBookings(q)}
    union select ${ospiti.prenotazione_id} from ${ospiti} where ${ofGuests(q)})`
}

/**
 * Counts the matches.
 * @param isRequested counts also more than `COUNTED` matches, which can take long
 * @returns undefined when there are too many matches, or the count times out
 */
export async function countFound (
  db: Executor, q: string, given: (SQL | undefined)[], isRequested: boolean
): Promise<number | undefined> {
  try {
    return isRequested ? await db.$count(t, and(isFound(q), ...given)) : await countFew(db, q, given)
  } catch (err) {
    if (isTooLong(err)) return undefined
    throw err
  }
}

async function countFew (db: Executor, q: string, given: (SQL | undefined)[]): Promise<number | undefined> {
  const own = db.$with('own').as(db.select({ id: t.id }).from(t).where(and(ofBookings(q), ...given)).limit(COUNTED + 1))
  const guests = db.$with('guests').as(db.select({ id: t.id }).from(t)
    .innerJoin(ospiti, eq(ospiti.prenotazione_id, t.id)).where(and(ofGuests(q), ...given)).limit(COUNTED + 1))
  const isMany = (found: SQLWrapper) => sql`(select count(*) from ${found}) > ${COUNTED}`
  const [counted] = await db.with(own, guests).select({
    total: sql<number | null>`case when not ${isMany(own)} and not ${isMany(guests)}
      then (select count(*)::int from (select id from ${own} union select id from ${guests}) as found) end`
  }).from(sql`(select) as row`)
  return counted!.total ?? undefined
}

function ofBookings (q: string): SQL | undefined {
  return hasWords(sql`${t}.ricerca`, q)
}

function ofGuests (q: string): SQL | undefined {
  return hasWords(sql`${ospiti}.ricerca`, q)
}
