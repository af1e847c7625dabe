/*
 * Spreadsheets run a cell that begins with one of these characters as a formula (OWASP, CSV injection). An apostrophe
 * before it makes the cell a text.
 */
const FORMULA = /^'*[=+\-@\t\r]/
const GUARDED = /^'+[=+\-@\t\r]/

export function guarded (text: string): string {
  return FORMULA.test(text) ? `'${text}` : text
}

/** Reverses `guarded`. */
export function unguarded (text: string): string {
  return GUARDED.test(text) ? text.slice(1) : text
}

/** A guarded cell, with quotes where RFC 4180 needs them, or blanks begin or end it. */
export function cell (value: string | number | null): string {
  const text = guarded(value === null ? '' : String(value))
  return /[";\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
