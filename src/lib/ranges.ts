/** A byte range, both ends inclusive. */
export interface ByteRange { start: number, end: number }

/**
 * Parses a `Range` header (RFC 9110, 14.1.2). Undefined means the whole file. Invalid headers are ignored, and several
 * ranges too, because they would multiply the work. `'unsatisfiable'` if the range starts beyond the end.
 */
export function readRange (header: string | undefined, size: number): ByteRange | undefined | 'unsatisfiable' {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '') ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined
  // The last n bytes. With n = 0 the range starts beyond the end.
  if (first === '') return within(Math.max(0, size - Number(last)), size - 1, size)
  if (last !== '' && Number(last) < Number(first)) return undefined
  return within(Number(first), last === '' ? size - 1 : Math.min(Number(last), size - 1), size)
}

function within (start: number, end: number, size: number): ByteRange | 'unsatisfiable' {
  return start < size ? { start, end } : 'unsatisfiable'
}
