/** Bytes, both ends included. */
export interface ByteRange { start: number, end: number }

/**
 * The part that a `Range` header asks for (RFC 9110, 14.1.2): undefined for the whole, which also answers several
 * ranges at once (they would multiply the work) and what cannot be read; `'unsatisfiable'` beyond the end.
 */
export function readRange (header: string | undefined, size: number): ByteRange | undefined | 'unsatisfiable' {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '') ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined
  // The last so many bytes; of none of them, what comes after the end.
  if (first === '') return within(Math.max(0, size - Number(last)), size - 1, size)
  if (last !== '' && Number(last) < Number(first)) return undefined
  return within(Number(first), last === '' ? size - 1 : Math.min(Number(last), size - 1), size)
}

function within (start: number, end: number, size: number): ByteRange | 'unsatisfiable' {
  return start < size ? { start, end } : 'unsatisfiable'
}
