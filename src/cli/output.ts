import { EXIT, type CliError } from './errors.ts'
import type { Terminal } from './terminal.ts'

/**
 * The output of a command: standard output gets results, and standard error all other lines. With `json`, results are
 * indented JSON, warnings and errors are one JSON object per line, and remarks are omitted.
 */
export function createOutput ({ stdout, stderr }: Terminal, json: boolean) {
  const warned = new Set<string>()
  return {
    json,
    /** Prints a result: the text, or the value with `--json`. */
    result (text: string, value: unknown): void {
      stdout.write(`${json ? JSON.stringify(value, null, 2) : text}\n`)
    },
    /** Prints a remark, which is not part of the result. */
    note (text: string): void {
      if (!json) stderr.write(`${line(text)}\n`)
    },
    /** Prints each warning once. */
    warn (text: string): void {
      if (warned.has(text)) return
      warned.add(text)
      stderr.write(`${json ? JSON.stringify({ warning: { messaggio: text } }) : `Attenzione: ${line(text)}`}\n`)
    },
    fail ({ exit, codice, message, risposta }: CliError): void {
      const error = { codice, messaggio: message, uscita: exit, risposta }
      const text = exit === EXIT.interrupted ? line(message) : `Errore: ${line(message)}`
      stderr.write(`${json ? JSON.stringify({ error }) : text}\n`)
    }
  }
}

/**
 * Makes text safe for one line of a terminal: control characters become blanks. Marks that change the writing direction
 * also become blanks, because they could disguise a name.
 */
export function line (text: string): string {
  return text.replace(/[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+/gu, ' ')
}

export interface Column {
  title: string
  right?: boolean
  /** The maximum width. Longer text is cut. */
  max?: number
}

const GAP = '  '
const graphemes = new Intl.Segmenter('it', { granularity: 'grapheme' })
/** Rows in aligned columns under a heading in capitals. */
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

/** Names and values, one pair per line. An unknown value is shown as a dash. */
export function card (fields: readonly (readonly [name: string, value: string | null])[]): string {
  const widest = Math.max(...fields.map(([name]) => width(name)))
  return fields.map(([name, value]) => padded(name, widest) + GAP + (value === null ? '—' : line(value))).join('\n')
}

// The Swedish locale writes dates as in ISO 8601: 2026-11-21 10:30.
const minutes = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Rome', dateStyle: 'short', timeStyle: 'short' })

/** Day and time in Italy of an ISO 8601 instant. Other text is returned unchanged. */
export function moment (instant: string): string {
  return Number.isNaN(Date.parse(instant)) ? instant : minutes.format(new Date(instant))
}

/** The day in Italy of an ISO 8601 instant. */
export function dayOf (instant: string): string {
  return moment(instant).split(' ', 1)[0]!
}

/** The characters as a reader counts them (grapheme clusters). */
function charactersOf (text: string): string[] {
  return Array.from(graphemes.segment(text), ({ segment }) => segment)
}

function width (text: string): number {
  return charactersOf(text).length
}

function padded (text: string, to: number, right = false): string {
  const blanks = ' '.repeat(Math.max(0, to - width(text)))
  return right ? blanks + text : text + blanks
}

function cut (text: string, max: number): string {
  const characters = charactersOf(text)
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join('')}…`
}
