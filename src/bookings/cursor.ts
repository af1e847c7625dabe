import { CampiNonValidi } from '#src/errors.ts'

/** The place after which a page begins: the last row's sort value and id, and the order they belong to. */
export interface Position { sort: string, value: string, id: number }

export function encodeCursor ({ sort, value, id }: Position): string {
  return Buffer.from(JSON.stringify([sort, value, id])).toString('base64url')
}

/** @throws CampiNonValidi when the cursor is not one of ours, or belongs to another order */
export function decodeCursor (cursor: string, sort: string): Position {
  const parts = parse(cursor)
  if (parts !== undefined && parts[0] === sort && typeof parts[1] === 'string' && Number.isSafeInteger(parts[2])) {
    return { sort, value: parts[1], id: Number(parts[2]) }
  }
  throw new CampiNonValidi({ campo: 'cursor', messaggio: 'non è valido per questo ordinamento' })
}

function parse (cursor: string): unknown[] | undefined {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(parts) && parts.length === 3 ? parts : undefined
  } catch {
    return undefined
  }
}
