import { CampiNonValidi } from './errors.ts'

/* Keyset pagination: a cursor contains the position after which the next page starts. */

/** Rows per page when the client sets no limit. */
export const DEFAULT_LIMIT = 100

/** The position after which a page starts: sort value and id of the last row, and the sort order. */
export interface Position { sort: string, value: string, id: number }

/** A sort value as PostgreSQL writes it: an id, day or instant. Other text could make the query fail. */
const VALUE = /^(\d{1,10}|\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d(\.\d{1,3})?\+00)?)$/
const MAX_ID = 2_147_483_647

export function encodeCursor ({ sort, value, id }: Position): string {
  return Buffer.from(JSON.stringify([sort, value, id])).toString('base64url')
}

/** @throws CampiNonValidi if the cursor is invalid or belongs to another sort order */
export function decodeCursor (cursor: string, sort: string): Position {
  const [order, value, id] = parse(cursor) ?? []
  const isPosition = typeof value === 'string' && VALUE.test(value) && Number.isInteger(id) &&
    Math.abs(Number(id)) <= MAX_ID
  if (order === sort && isPosition) return { sort, value, id: Number(id) }
  const messaggio = 'non è valido per questo ordinamento: ripartire dalla prima pagina, senza cursor'
  throw new CampiNonValidi({ campo: 'cursor', messaggio })
}

/** The `Link` header (RFC 8288) of the next page. The URL is relative, so that it is valid behind any proxy. */
export function nextLink (path: string, query: object, next: Position | string): string {
  const fields = Object.entries({ ...query, cursor: typeof next === 'string' ? next : encodeCursor(next) })
  const parameters = new URLSearchParams(fields.map(([name, value]): [string, string] => [name, String(value)]))
  return `<${path}?${parameters}>; rel="next"`
}

function parse (cursor: string): unknown[] | undefined {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(parts) && parts.length === 3 ? parts : undefined
  } catch {
    return undefined
  }
}
