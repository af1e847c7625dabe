import { line } from './output.ts'

export interface Column {
  title: string
  right?: boolean
  /** The widest that it may get: what is longer is cut. */
  max?: number
}

const GAP = '  '
const graphemes = new Intl.Segmenter('it', { granularity: 'grapheme' })
/** Characters that take two columns, by the scripts and blocks that UAX #11 calls wide. */
const WIDE = new RegExp(
  '^(?![\\uff61-\\uffdc])[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}' +
    '\\p{Emoji_Presentation}\\u3000-\\u303e\\uff01-\\uff60\\uffe0-\\uffe6]',
  'u'
)

/** Rows in aligned columns under a head of capitals. */
export function table (columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((text, at) => cut(line(text), columns[at]?.max ?? Infinity)))
  const all = [columns.map(({ title }) => title.toUpperCase()), ...cells]
  const widths = columns.map((_, at) => Math.max(...all.map((row) => width(row[at] ?? ''))))
  return all
    .map((row) =>
      row
        .map((text, at) => padded(text, widths[at] ?? 0, columns[at]?.right))
        .join(GAP)
        .trimEnd()
    )
    .join('\n')
}

/** Names and values, one a line; what is not known is a dash. */
export function card (fields: readonly (readonly [name: string, value: string | null])[]): string {
  const widest = Math.max(...fields.map(([name]) => width(name)))
  return fields.map(([name, value]) => padded(name, widest) + GAP + (value === null ? '—' : line(value))).join('\n')
}

// The Swedish form is the ISO one: 2026-11-21 10:30.
const minutes = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Rome', dateStyle: 'short', timeStyle: 'short' })

/** Day and time in Italy of an ISO 8601 instant; what is none stays as it is. */
export function moment (instant: string): string {
  return Number.isNaN(Date.parse(instant)) ? instant : minutes.format(new Date(instant))
}

/** The day in Italy of an ISO 8601 instant. */
export function dayOf (instant: string): string {
  return moment(instant).split(' ', 1)[0]!
}

/** How many columns of a terminal a text takes. */
function width (text: string): number {
  let columns = 0
  for (const { segment } of graphemes.segment(text)) columns += WIDE.test(segment) ? 2 : 1
  return columns
}

function padded (text: string, to: number, right = false): string {
  const blanks = ' '.repeat(Math.max(0, to - width(text)))
  return right ? blanks + text : text + blanks
}

function cut (text: string, max: number): string {
  if (width(text) <= max) return text
  let kept = ''
  for (const { segment } of graphemes.segment(text)) {
    if (width(kept + segment) > max - 1) break
    kept += segment
  }
  return `${kept}…`
}
