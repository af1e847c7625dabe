import { and, asc, desc, eq, gt, gte, lt, lte, or, sql, type SQL } from 'drizzle-orm'
import { prenotazioni as t } from '#drizzle/tables/index.ts'
import type { BookingQuery } from '#schemas/booking.ts'
import type { Executor } from '#src/plugins/database/connect.ts'
import { decodeCursor, type Position } from '#src/plugins/paging.ts'
import { asJson, bookingColumns } from './columns.ts'

/** Rows fetched at a time: what a full list holds in memory. */
const BATCH = 1000

type Filters = Omit<BookingQuery, 'limit' | 'cursor'>
type Sort = NonNullable<BookingQuery['sort']>

/** A run of bookings, each already in JSON as PostgreSQL writes it, and where the next run begins. */
export interface Page { rows: string[], next: Position | undefined }

const ORDERS: Readonly<Record<string, typeof t.id | typeof t.check_in | typeof t.updated_at>> = {
  id: t.id, check_in: t.check_in, updated_at: t.updated_at
}

/** One page of the list; `limit` rows after the query's cursor. */
export function bookingPage (db: Executor, { cursor, ...filters }: Omit<BookingQuery, 'limit'>, limit: number): Promise<Page> {
  return page(db, filters, limit, cursor === undefined ? undefined : decodeCursor(cursor, filters.sort ?? 'id'))
}

/** How many bookings the filters let through. */
export function countBookings (db: Executor, filters: Filters): Promise<number> {
  return db.$count(t, and(...conditions(filters)))
}

/**
 * All bookings that the filters let through, in batches by keyset: memory stays flat, and no connection is held while a slow
 * client reads.
 */
export async function * bookingBatches (db: Executor, filters: Filters): AsyncGenerator<string[]> {
  let position: Position | undefined
  do {
    const { rows, next }: Page = await page(db, filters, BATCH, position)
    yield rows
    position = next
  } while (position !== undefined)
}

async function page (db: Executor, filters: Filters, limit: number, after: Position | undefined): Promise<Page> {
  const { column, direction, sort } = order(filters.sort)
  const found = await db.select({ json: asJson(bookingColumns), id: t.id, value: sql<string>`${column}::text` })
    .from(t)
    .where(and(...conditions(filters), after && beyond(after)))
    .orderBy(direction(column), direction(t.id))
    // One row more than asked for tells whether anything follows.
    .limit(limit + 1)
    .prepare('booking_page').execute()
  const last = found.length > limit ? found[limit - 1] : undefined
  return { rows: found.slice(0, limit).map(({ json }) => json), next: last && { sort, value: last.value, id: last.id } }
}

function order (sort: Sort = 'id') {
  const descending = sort.startsWith('-')
  return { sort, column: ORDERS[descending ? sort.slice(1) : sort] ?? t.id, direction: descending ? desc : asc, after: descending ? lt : gt }
}

/** Rows after a position: a greater value, or the same value and a later id. */
function beyond ({ sort, value, id }: Position): SQL | undefined {
  const { column, after } = order(sort as Sort)
  if (column === t.id) return after(t.id, id)
  const position = sql`${value}::${sql.raw(column.getSQLType())}`
  return or(after(column, position), and(eq(column, position), after(t.id, id)))
}

function conditions ({ q, check_in_da, check_in_a, paese_id, updated_since }: Filters): (SQL | undefined)[] {
  const like = q === undefined ? undefined : `%${q.replace(/[\\%_]/g, '\\$&')}%`
  return [
    like === undefined ? undefined : sql`(${t.nome_cognome} ilike ${like} or ${t.idf_gen} ilike ${like} or ${t.email} ilike ${like})`,
    check_in_da === undefined ? undefined : gte(t.check_in, check_in_da),
    check_in_a === undefined ? undefined : lte(t.check_in, check_in_a),
    paese_id === undefined ? undefined : eq(t.paese_id, paese_id),
    updated_since === undefined ? undefined : gte(t.updated_at, updated_since)
  ]
}
