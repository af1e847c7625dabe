import { and, asc, desc, eq, gt, gte, lt, lte, or, sql, type SQL } from 'drizzle-orm'
import { prenotazioni as t } from '#drizzle/tables/bookings.ts'
import type { BookingQuery } from '#schemas/booking.ts'
import { asJson, containing } from '#src/plugins/database/columns.ts'
import type { Executor } from '#src/plugins/database/connect.ts'
import { decodeCursor, type Position } from '#src/lib/paging.ts'
import { bookingColumns } from './columns.ts'

/** Rows fetched at a time: what a full list holds in memory. */
const BATCH = 1000

type Filters = Omit<BookingQuery, 'limit' | 'cursor'>
type Sort = NonNullable<BookingQuery['sort']>

/** A run of bookings as PostgreSQL writes it, JSON objects with commas between them, and where the next run begins. */
export interface Page { json: string, next: Position | undefined }

const ORDERS: Readonly<Record<string, typeof t.id | typeof t.check_in | typeof t.updated_at>> = {
  id: t.id, check_in: t.check_in, updated_at: t.updated_at
}

/** One page of the list; `limit` rows after the query's cursor. */
export function bookingPage (
  db: Executor,
  { cursor, ...filters }: Omit<BookingQuery, 'limit'>,
  limit: number
): Promise<Page> {
  return page(db, filters, limit, cursor === undefined ? undefined : decodeCursor(cursor, filters.sort ?? 'id'))
}

/** How many bookings the filters let through. */
export function countBookings (db: Executor, filters: Filters): Promise<number> {
  return db.$count(t, and(...conditions(filters)))
}

/**
 * All bookings that the filters let through, in batches by keyset: memory stays flat, and no connection is held while a
 * slow client reads.
 */
export async function * bookingBatches (db: Executor, filters: Filters): AsyncGenerator<string> {
  let position: Position | undefined
  do {
    const { json, next }: Page = await page(db, filters, BATCH, position)
    yield json
    position = next
  } while (position !== undefined)
}

/** One row for the whole run: a thousand rows of their own take the driver and Drizzle three times as long. */
async function page (db: Executor, filters: Filters, limit: number, after: Position | undefined): Promise<Page> {
  const { column, direction, sort } = order(filters.sort)
  const rows = db.select({
    json: asJson(bookingColumns).as('json'),
    id: t.id,
    value: sql<string>`${column}::text`.as('value'),
    place: sql<number>`row_number() over (order by ${direction(column)}, ${direction(t.id)})`.as('place')
  }).from(t)
    .where(and(...conditions(filters), after && beyond(after)))
    .orderBy(direction(column), direction(t.id))
    // One row more than asked for tells whether anything follows.
    .limit(limit + 1).as('rows')
  const last = sql`filter (where ${rows.place} = ${limit})`
  const [found] = await db
    .select({
      json: sql<
        string | null
      >`string_agg(${rows.json}, ',' order by ${rows.place}) filter (where ${rows.place} <= ${limit})`,
      id: sql<number>`max(${rows.id}) ${last}`,
      value: sql<string>`max(${rows.value}) ${last}`,
      more: sql<boolean>`count(*) > ${limit}`
    })
    .from(rows)
    .prepare('booking_page')
    .execute()
  const { json, id, value, more } = found!
  return { json: json ?? '', next: more ? { sort, value, id } : undefined }
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

function conditions ({ q, check_in_da, check_in_a, paese_id, updated_since }: Filters): (SQL | undefined)[] {
  const pattern = q === undefined ? undefined : containing(q)
  return [
    pattern === undefined
      ? undefined
      : sql`(${t.nome_cognome} ilike ${pattern} or ${t.idf_gen} ilike ${pattern} or ${t.email} ilike ${pattern})`,
    check_in_da === undefined ? undefined : gte(t.check_in, check_in_da),
    check_in_a === undefined ? undefined : lte(t.check_in, check_in_a),
    paese_id === undefined ? undefined : eq(t.paese_id, paese_id),
    updated_since === undefined ? undefined : gte(t.updated_at, updated_since)
  ]
}
