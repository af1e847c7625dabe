import { and, inArray, sql, type SQL } from 'drizzle-orm'
import { objects as t } from '#drizzle/tables/storage.ts'
import { LIST_MAX, type ListBody, type ListV2Body } from '#schemas/storage-listing.ts'
import type { ListV2Response, StorageEntry } from '#schemas/storage-protocol.ts'
import type { Executor } from '#src/database/connect.ts'
import type { StoredFile } from '#src/services/files/file-service.ts'
import { couldBegin } from './file-names.ts'
import { inView, type View } from './object-rows.ts'
import { StorageError } from './protocol/errors.ts'
import { presentEntry } from './protocol/present-files.ts'

interface Order { column: string, order: string }
interface Position { key: string, sort: string | null }

/** The cursor at the end of a page. It contains the order, because it is valid only for that order. */
function writeCursor ({ column, order }: Order, { key, sort }: Position): string {
  return Buffer.from(JSON.stringify([column, order, key, sort === null ? null : new Date(sort).toISOString()]))
    .toString('base64url')
}

/** @throws StorageError for a text that is not a cursor, or is a cursor of another order */
function readCursor (text: string, { column, order }: Order): Position {
  let parts: unknown
  try {
    parts = JSON.parse(Buffer.from(text, 'base64url').toString())
  } catch {
    throw invalid()
  }
  if (!Array.isArray(parts) || parts.length !== 4) throw invalid()
  const [inColumn, inOrder, key, sort] = parts as unknown[]
  const isPosition = typeof key === 'string' && /^[\x20-\x7e]{1,1025}$/.test(key) &&
    (column === 'name' ? sort === null : typeof sort === 'string' && /^[\dTZ:.-]{24}$/.test(sort))
  if (inColumn !== column || inOrder !== order || !isPosition) throw invalid()
  return { key, sort: sort as string | null }
}

function invalid (): StorageError {
  return new StorageError('InvalidRequest', 'Invalid Parameter cursor')
}

const LIST_LIMIT = 100
/** A valid offset for PostgreSQL, which exceeds the number of files in any bucket. */
const OFFSET_MAX = Number.MAX_SAFE_INTEGER

/** One line of a list: a file, or a folder with files below it. */
type Line = { key: string, id: string | null }
type Entry = { folder: string } | { file: StoredFile, key: string }

/** Names are compared byte by byte, so that a list does not depend on the database's collation. */
const BYTEWISE = sql.raw('collate "C"')
const DATES = { created_at: t.created_at, updated_at: t.updated_at, last_accessed_at: t.updated_at }
/** A character that sorts after every character of a name. */
const LAST = '\x7f'

/** Lists a folder: its folders first, then its files. */
export async function listFolder (db: Executor, view: View, body: ListBody): Promise<StorageEntry[]> {
  const { prefix, limit = LIST_LIMIT, offset = 0, search = '', sortBy: { column = 'name', order = 'asc' } = {} } = body
  const folder = prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`
  if (!couldBegin(folder) || !couldBegin(search)) return []
  const { below, rest } = within(view, folder)
  const sorted = column === 'name' ? sql`key` : sql`sort`
  const lines = await db.execute<Line>(sql`
    select key, id from (
      select distinct split_part(${rest}, '/', 1) as key, null::uuid as id, null::timestamptz as sort
      from ${t} where ${below} and strpos(${rest}, '/') > 0
      union all
      select ${rest}, ${t.id}, ${column === 'name' ? sql`null::timestamptz` : DATES[column]}
      from ${t} where ${below} and strpos(${rest}, '/') = 0
    ) as lines
    where starts_with(lower(key), lower(${search}))
    order by id is not null, ${column === 'name' ? sql`key ${BYTEWISE}` : sorted} ${direction(order)}, key ${BYTEWISE}
    limit ${Math.min(limit, LIST_MAX)} offset ${Math.min(offset, OFFSET_MAX)}`)
  return (await load(db, lines)).map((entry) =>
    'folder' in entry ? presentEntry(entry.folder) : presentEntry(entry.key, entry.file))
}

/** Lists names with a prefix, in pages. With a delimiter, a folder replaces the names below it. */
export async function listPrefix (db: Executor, view: View, body: ListV2Body): Promise<ListV2Response> {
  const { prefix = '', cursor = '', with_delimiter: isFolded = false, sortBy = {} } = body
  const limit = Math.min(body.limit ?? LIST_MAX, LIST_MAX)
  const { column = 'name', order = 'asc' } = sortBy
  // Clients that read pages in a loop send an empty cursor for the first page.
  const after = cursor === '' ? undefined : readCursor(cursor, { column, order })
  if (!couldBegin(prefix)) return { hasNext: false, folders: [], objects: [] }
  const { below, rest } = within(view, prefix)
  const sort = column === 'name' ? sql`null::timestamptz` : DATES[column]
  const all = sql`select ${t.name} as key, ${t.id} as id, ${sort} as sort from ${t} where ${below}`
  const folded = sql`${all} and strpos(${rest}, '/') = 0
    union all
    select ${prefix} || split_part(${rest}, '/', 1) || '/' as key, null, min(${sort})
    from ${t} where ${below} and strpos(${rest}, '/') > 0 group by 1`
  const lines = await db.execute<Line & { sort: string | null }>(sql`
    select key, id, sort from (${isFolded ? folded : all}) as lines
    where ${after === undefined ? sql`true` : beyond(after, order)}
    order by sort ${direction(order)}, key ${BYTEWISE} ${direction(order)} limit ${limit + 1}`)
  const page = lines.slice(0, limit)
  const entries = await load(db, page)
  const hasNext = lines.length > limit
  const last = page.at(-1)
  return {
    hasNext,
    ...(hasNext && last ? { nextCursor: writeCursor({ column, order }, last) } : {}),
    ...presentPart(entries)
  }
}

function presentPart (entries: readonly Entry[]): Pick<ListV2Response, 'folders' | 'objects'> {
  return {
    folders: entries.flatMap((entry) =>
      'folder' in entry ? [{ key: entry.folder.slice(0, -1), name: entry.folder }] : []),
    objects: entries.flatMap((entry) =>
      'file' in entry ? [{ ...presentEntry(entry.key, entry.file), key: entry.key }] : [])
  }
}

/** A condition for rows whose names start with the prefix, and an expression for the rest of the name. */
function within (view: View, prefix: string): { below: SQL, rest: SQL } {
  const name = sql`${t.name} ${BYTEWISE}`
  return {
    below: and(inView(view), sql`${name} > ${prefix}`, sql`${name} < ${prefix + LAST}`)!,
    rest: sql`substr(${t.name}, ${prefix.length + 1}::int)`
  }
}

function beyond ({ key, sort }: Position, order: 'asc' | 'desc'): SQL {
  const sign = sql.raw(order === 'asc' ? '>' : '<')
  return sort === null
    ? sql`key ${BYTEWISE} ${sign} ${key}`
    : sql`(sort, key ${BYTEWISE}) ${sign} (${sort}::timestamptz, ${key})`
}

function direction (order: 'asc' | 'desc'): SQL {
  return sql.raw(order)
}

/** The rows of a page, without files that were deleted meanwhile. */
async function load (db: Executor, lines: readonly Line[]): Promise<Entry[]> {
  const ids = lines.flatMap(({ id }) => id === null ? [] : [id])
  const rows = ids.length === 0 ? [] : await db.select().from(t).where(inArray(t.id, ids))
  const byId = new Map(rows.map((row) => [row.id, row]))
  return lines.flatMap(({ key, id }): Entry[] => {
    if (id === null) return [{ folder: key }]
    const file = byId.get(id)
    return file ? [{ file, key }] : []
  })
}
