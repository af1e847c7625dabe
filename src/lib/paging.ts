import { CampiNonValidi } from './errors.ts'

/* Pages of a list, by keyset: a cursor holds the place after which the next one begins. */

/** How many rows a page has when the client does not say. */
export const DEFAULT_LIMIT = 100

/** The place after which a page begins: the last row's sort value and id, and the order they belong to. */
export interface Position { sort: string, value: string, id: number }

/** What PostgreSQL writes for an id, a day or an instant: its other spellings of a date fail in ways of their own. */
const VALUE = /^(\d{1,10}|\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d(\.\d{1,3})?\+00)?)$/
const MAX_ID = 2_147_483_647

export function encodeCursor ({ sort, value, id }: Position): string {
  return Buffer.from(JSON.stringify([sort, value, id])).toString('base64url')
}

/** @throws CampiNonValidi when the cursor is not one of ours, or belongs to another order */
export function decodeCursor (cursor: string, sort: string): Position {
  const [order, value, id] = parse(cursor) ?? []
  const isPosition = typeof value === 'string' && VALUE.test(value) && Number.isInteger(id) &&
    Math.abs(Number(id)) <= MAX_ID
  if (order === sort && isPosition) return { sort, value, id: Number(id) }
  throw new CampiNonValidi({ campo: 'cursor', messaggio: 'non è valido per questo ordinamento' })
}

/** A `Link` header (RFC 8288) with the address of the next page. It is relative, so that any proxy may stand before. */
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
