import {
  and, asc, desc, eq, gt, gte, isNotNull, isNull, lt, lte, or, sql, type Placeholder, type SQL
} from 'drizzle-orm'
import { prenotazioni as t, prenotazioni_per_paese as counts } from '#drizzle/tables/bookings.ts'
import type { BookingQuery } from '#schemas/booking.ts'
import { asJson } from '#src/database/columns.ts'
import type { Database } from '#src/database/connect.ts'
import { keptStatements, placeholders } from '#src/database/kept-statements.ts'
import { decodeCursor, type Position } from '#src/lib/paging.ts'
import { inBatches } from '#src/http/list-responses.ts'
import type { JsonPieces } from '#src/http/streams.ts'
import { bookingColumns } from './booking-columns.ts'
import { countFound, isAmongFirst, isFirst, type Search } from './found-bookings.ts'

/** Rows per batch. The limit bounds the memory for a full list. */
const BATCH = 250

type Filters = Omit<BookingQuery, 'limit' | 'cursor' | 'conteggio'>
type Sort = NonNullable<BookingQuery['sort']>

/** A batch of bookings: comma-separated JSON objects from PostgreSQL, their number, and the next position. */
interface Page {
  json: string
  rows: number
  next: Position | undefined
  /** Number of all matches, if it was counted. */
  total?: number | undefined
}
/** The row of a page's statement: JSON, position of the last booking, and number of rows found. */
interface PageRow { json: string | null, id: number, value: string, found: number, total?: number }

const ORDERS: Readonly<Record<string, typeof t.id | typeof t.check_in | typeof t.updated_at>> = {
  id: t.id, check_in: t.check_in, updated_at: t.updated_at
}

/** SQL of the number of matching bookings. The database keeps the counts of all bookings and of each country. */
function countOf (db: Database, { sort: _, ...filters }: Filters): SQL {
  const { paese_id, ...rest } = filters
  if (Object.values(rest).some((value) => value !== undefined)) {
    return sql`(select count(*) from ${t} where ${and(...conditions(filters))})`
  }
  const ofCountry = paese_id === undefined ? undefined : eq(counts.paese_id, paese_id)
  return sql`(${db.select({ total: sql`coalesce(sum(${counts.totale}), 0)` }).from(counts).where(ofCountry)})`
}

/**
 * One page of the list, and the number of all matches if it is requested. If `conteggio` is undefined, the first page
 * has the number. A count of a search is left out if it takes too long, or if nobody requested it and it is expensive.
 */
export async function countedPage (
  db: Database,
  filters: Filters,
  { limit, cursor, conteggio }: { limit: number, cursor: string | undefined, conteggio: boolean | undefined }
): Promise<Page> {
  const after = cursor === undefined ? undefined : decodeCursor(cursor, filters.sort ?? 'id')
  const counted = conteggio ?? cursor === undefined
  const { q } = filters
  if (q === undefined) return await keptPage(db, filters, { limit, after, counted })
  const page = await foundPage(db, { ...filters, q }, limit, after)
  if (!counted) return page
  if (cursor === undefined && page.next === undefined) return { ...page, total: page.rows }
  return { ...page, total: await countFound(db, q, conditions(filters), conteggio === true) }
}

/** All bookings that match the filters, in batches by keyset. */
export function wholeList (db: Database, filters: Filters): JsonPieces {
  return inBatches<Position>('{"data":[', ']}', (after) => bookingPage(db, filters, BATCH, after))
}

/** The same list as batches of comma-separated JSON objects. */
export async function * bookingPages (db: Database, filters: Filters): AsyncGenerator<string> {
  let after: Position | undefined
  do {
    const page: Page = await bookingPage(db, filters, BATCH, after)
    if (page.json !== '') yield page.json
    after = page.next
  } while (after !== undefined)
}

async function bookingPage (
  db: Database, { q, ...filters }: Filters, limit: number, after: Position | undefined
): Promise<Page> {
  return q === undefined
    ? await keptPage(db, filters, { limit, after, counted: false })
    : await foundPage(db, { ...filters, q }, limit, after)
}

async function foundPage (
  db: Database, filters: Filters & { q: string }, limit: number, after: Position | undefined
): Promise<Page> {
  const ordered = order(filters.sort)
  const given = [...conditions(filters), after && beyond(after)]
  const { column, direction } = ordered
  const search: Search = { q: filters.q, given, order: [direction(column), direction(t.id)] }
  // A common text is found sooner in list order. A rare text needs the search index.
  const page = await readPage(db, ordered, limit, isAmongFirst(search, limit + 1))
  return page.next === undefined ? await readPage(db, ordered, limit, isFirst(search, limit + 1)) : page
}

const runKept = keptStatements()

interface KeptPage { limit: number, after: Position | undefined, counted: boolean }

/** A page without a search: one statement for each set of filters and order. */
async function keptPage (
  db: Database, filters: Filters, { limit, after, counted }: KeptPage
): Promise<Page> {
  const { sort, senza_unita, ...equal } = filters
  const values: Record<string, unknown> = {
    ...equal, limit, more: limit + 1, ...after && { afterValue: after.value, afterId: after.id }
  }
  const given = Object.keys(values).filter((name) => values[name] !== undefined).sort()
  const key = [counted, sort, senza_unita, ...given].join()
  const [row] = await runKept<PageRow[]>(db, key, values, () => pageStatement(db, filters, given, counted))
  return pageOf(row!, order(sort).sort, limit)
}

function pageStatement (db: Database, { sort, senza_unita }: Filters, given: readonly string[], counted: boolean) {
  const ordered = order(sort)
  const { afterValue: value, afterId: id, limit, more, ...equal } = placeholders(given)
  const after = value && id && beyond({ sort: ordered.sort, value, id })
  const filters = { ...equal, senza_unita }
  const all = counted ? countOf(db, filters) : undefined
  const total = all && (after ? all : sql`case when count(*) > ${limit} then ${all} else count(*) end`)
  return pageQuery(db, ordered, { limit: limit!, more: more!, total }, and(...conditions(filters), after))
}

async function readPage (
  db: Database, ordered: ReturnType<typeof order>, limit: number, where: SQL | undefined
): Promise<Page> {
  const [row] = await pageQuery(db, ordered, { limit, more: limit + 1 }, where).prepare('booking_page').execute()
  return pageOf(row!, ordered.sort, limit)
}

function pageOf ({ json, id, value, found, total }: PageRow, sort: Sort, limit: number): Page {
  return {
    json: json ?? '',
    rows: Math.min(found, limit),
    next: found > limit ? { sort, value, id } : undefined,
    total
  }
}

/** The rows of a page, and one more to detect whether there is a next page. */
interface Limits { limit: number | Placeholder, more: number | Placeholder, total?: SQL | undefined }

/**
 * PostgreSQL returns the batch as one row, because the driver and Drizzle would take three times as long for a thousand
 * rows. `string_agg` keeps the order of the rows. Slicing an array of the rows takes a quarter longer.
 */
function pageQuery (
  db: Database, { column, direction }: ReturnType<typeof order>, { limit, more, total }: Limits, where: SQL | undefined
) {
  const rows = db.select({
    json: asJson(bookingColumns).as('json'),
    id: t.id,
    value: sql<string>`${column}::text`.as('value')
  }).from(t)
    .where(where)
    .orderBy(direction(column), direction(t.id))
    .limit(more).as('rows')
  const numbered = db.select({ json: rows.json, id: rows.id, value: rows.value, n: sql`row_number() over ()`.as('n') })
    .from(rows).as('numbered')
  return db.select({
    json: sql<string | null>`string_agg(${numbered.json}, ',') filter (where ${numbered.n} <= ${limit})`.as('json'),
    id: sql<number>`max(${numbered.id}) filter (where ${numbered.n} = ${limit})`.as('id'),
    value: sql<string>`max(${numbered.value}) filter (where ${numbered.n} = ${limit})`.as('value'),
    found: sql<number>`count(*)::int`.as('found'),
    ...total && { total: sql<number>`(${total})::int`.as('total') }
  }).from(numbered)
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

interface Bound { sort: string, value: string | Placeholder, id: number | Placeholder }

/** Rows after a position: a greater value, or the same value and a later id. */
function beyond ({ sort, value, id }: Bound): SQL | undefined {
  const { column, after } = order(sort as Sort)
  if (column === t.id) return after(t.id, id)
  const position = sql`${value}::${sql.raw(column.getSQLType())}`
  return or(after(column, position), and(eq(column, position), after(t.id, id)))
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
