import { StorageError } from './protocol/errors.ts'

interface Order { column: string, order: string }
interface Place { key: string, sort: string | null }

/** Where a part of a list ends, for the next one; it holds the order, in which alone it means anything. */
export function writeCursor ({ column, order }: Order, { key, sort }: Place): string {
  return Buffer.from(JSON.stringify([column, order, key, sort === null ? null : new Date(sort).toISOString()]))
    .toString('base64url')
}

/** @throws StorageError for what was not written here, or for another order */
export function readCursor (text: string, { column, order }: Order): Place {
  let parts: unknown
  try {
    parts = JSON.parse(Buffer.from(text, 'base64url').toString())
  } catch {
    throw invalid()
  }
  if (!Array.isArray(parts) || parts.length !== 4) throw invalid()
  const [inColumn, inOrder, key, sort] = parts as unknown[]
  const isPlace = typeof key === 'string' && /^[\x20-\x7e]{1,1025}$/.test(key) &&
    (column === 'name' ? sort === null : typeof sort === 'string' && /^[\dTZ:.-]{24}$/.test(sort))
  if (inColumn !== column || inOrder !== order || !isPlace) throw invalid()
  return { key, sort: sort as string | null }
}

function invalid (): StorageError {
  return new StorageError('InvalidRequest', 'Invalid Parameter cursor')
}
