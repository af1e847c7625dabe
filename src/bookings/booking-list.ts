import { and, asc, desc, eq, gt, gte, isNotNull, isNull, lt, lte, or, sql, sum, type SQL } from 'drizzle-orm'
import { ospiti, prenotazioni as t, prenotazioni_per_paese as countries } from '#drizzle/tables/bookings.ts'
import type { BookingQuery } from '#schemas/booking.ts'
import { asJson } from '#src/database/columns.ts'
import type { Executor } from '#src/database/connect.ts'
import { decodeCursor, type Position } from '#src/lib/paging.ts'
import { inBatches } from '#src/http/list-responses.ts'
import type { JsonPieces } from '#src/http/streams.ts'
import { bookingColumns } from './booking-columns.ts'
import { isTooLong } from './booking-search.ts'
import { hasWords } from './search-terms.ts'

/** Rows per batch. The limit bounds the memory for a full list. */
const BATCH = 1000

type Filters = Omit<BookingQuery, 'limit' | 'cursor' | 'conteggio'>
type Sort = NonNullable<BookingQuery['sort']>

/** A batch of bookings: comma-separated JSON objects from PostgreSQL, their number, and the next position. */
interface Page { json: string, rows: number, next: Position | undefined }

const ORDERS: Readonly<Record<string, typeof t.id | typeof t.check_in | typeof t.updated_at>> = {
  id: t.id, check_in: t.check_in, updated_at: t.updated_at
}

/** Counts the bookings that match the filters. The database keeps the counts of all bookings and of each country. */
async function countBookings (db: Executor, { sort: _, ...filters }: Filters): Promise<number> {
  const { paese_id, ...rest } = filters
  if (Object.values(rest).some((value) => value !== undefined)) {
    const given = conditions(filters)
    return db.$count(t, filters.q === undefined ? and(...given) : isFound(db, filters.q, given))
  }
  const [counted] = await db.select({ total: sum(countries.totale).mapWith(Number) }).from(countries)
    .where(paese_id === undefined ? undefined : eq(countries.paese_id, paese_id))
  return counted!.total ?? 0
}

/** One page of the list. If counting a search takes too long, the page is returned without the count. */
export async function countedPage (
  db: Executor,
  filters: Filters,
  { limit, cursor, conteggio }: { limit: number, cursor: string | undefined, conteggio: boolean }
): Promise<Page & { total: number | undefined }> {
  const after = cursor === undefined ? undefined : decodeCursor(cursor, filters.sort ?? 'id')
  const page = await bookingPage(db, filters, limit, after)
  if (!conteggio) return { ...page, total: undefined }
  if (cursor === undefined && page.next === undefined) return { ...page, total: page.rows }
  const total = await countBookings(db, filters).catch((err: unknown) => {
    if (filters.q !== undefined && isTooLong(err)) return undefined
    throw err
  })
  return { ...page, total }
}

/** All bookings that match the filters, in batches by keyset. */
export function wholeList (db: Executor, filters: Filters): JsonPieces {
  return inBatches<Position>('{"data":[', ']}', (after) => bookingPage(db, filters, BATCH, after))
}

/** PostgreSQL returns the batch as one row. The driver and Drizzle take three times as long for a thousand rows. */
async function bookingPage (
  db: Executor, filters: Filters, limit: number, after: Position | undefined
): Promise<Page> {
  const { column, direction, sort } = order(filters.sort)
  const { q } = filters
  const given = [...conditions(filters), after && beyond(after)]
  const rows = db.select({
    json: asJson(bookingColumns).as('json'),
    id: t.id,
    value: sql<string>`${column}::text`.as('value'),
    place: sql<number>`row_number() over (order by ${direction(column)}, ${direction(t.id)})`.as('place')
  }).from(t)
    .where(q === undefined ? and(...given) : isFound(db, q, given, [direction(column), direction(t.id)], limit + 1))
    .orderBy(direction(column), direction(t.id))
    // One row more than requested, to detect whether there is a next page.
    .limit(limit + 1).as('rows')
  const last = sql`filter (where ${rows.place} = ${limit})`
  const [run] = await db
    .select({
      json: sql<
        string | null
      >`string_agg(${rows.json}, ',' order by ${rows.place}) filter (where ${rows.place} <= ${limit})`,
      id: sql<number>`max(${rows.id}) ${last}`,
      value: sql<string>`max(${rows.value}) ${last}`,
      found: sql<number>`count(*)::int`
    })
    .from(rows)
    .prepare('booking_page')
    .execute()
  const { json, id, value, found } = run!
  return { json: json ?? '', rows: Math.min(found, limit), next: found > limit ? { sort, value, id } : undefined }
}

function order (sort: Sort = 'id') {
  const descending = sort.startsWith('-')
  return {
    sort,
    column: ORDERS[descending ? sort.slice(1) : sort] ?? t.id,
    direction: descending ? desc : asc,
    after: descending ? lt : gt
  }
}

/** Rows after a position: a greater value, or the same value and a later id. */
function beyond ({ sort, value, id }: Position): SQL | undefined {
  const { column, after } = order(sort as Sort)
  if (column === t.id) return after(t.id, id)
  const position = sql`${value}::${sql.raw(column.getSQLType())}`
  return or(after(column, position), and(eq(column, position), after(t.id, id)))
}

/**
 * Whether a booking, or one of its guests, contains the words of `q`. Bookings and guests are searched by two queries,
 * so that PostgreSQL plans each separately: with the index for a rare text, in the order of the list for a common one.
 * With a limit, each query finds as many rows as a page needs.
 */
function isFound (
  db: Executor, q: string, given: (SQL | undefined)[], order: SQL[] = [], limit?: number
): SQL {
  const ofGuest = sql`exists (select from ${ospiti} where ${ospiti.prenotazione_id} = ${t.id}
    and ${hasWords(sql`${ospiti}.ricerca`, q)})`
  const [own, guests] = [hasWords(sql`${t}.ricerca`, q), ofGuest].map((match) => {
    const ids = db.select({ id: t.id }).from(t).where(and(match, ...given)).orderBy(...order)
    return limit === undefined ? ids : ids.limit(limit)
  })
  return sql`${t.id} in ((${own}) union (${guests}))`
}

function conditions (
  { check_in_da, check_in_a, paese_id, stato, unita_id, senza_unita, gruppo, updated_since }: Filters
): (SQL | undefined)[] {
  return [
    check_in_da === undefined ? undefined : gte(t.check_in, check_in_da),
    check_in_a === undefined ? undefined : lte(t.check_in, check_in_a),
    paese_id === undefined ? undefined : eq(t.paese_id, paese_id),
    stato === undefined ? undefined : eq(t.stato, stato),
    unita_id === undefined ? undefined : eq(t.unita_id, unita_id),
    senza_unita === undefined ? undefined : senza_unita ? isNull(t.unita_id) : isNotNull(t.unita_id),
    gruppo === undefined ? undefined : eq(t.gruppo, gruppo),
    updated_since === undefined ? undefined : gte(t.updated_at, updated_since)
  ]
}
