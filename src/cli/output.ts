import { EXIT, type CliError } from './errors.ts'
import type { Terminal } from './terminal.ts'

/** Where a command's words go: results to standard output, all else to standard error. */
export interface Output {
  json: boolean
  /** A result: the text for people, or the value with `--json`. */
  result (text: string, value: unknown): void
  /** A remark beside the result. */
  note (text: string): void
  /** The same warning once. */
  warn (text: string): void
  fail (err: CliError): void
}

/** With `json` everything is JSON: results indented, remarks left out, warnings and errors one object a line. */
export function createOutput ({ stdout, stderr }: Terminal, json: boolean): Output {
  const warned = new Set<string>()
  return {
    json,
    result: (text, value) => { stdout.write(`${json ? JSON.stringify(value, null, 2) : text}\n`) },
    note: (text) => { if (!json) stderr.write(`${line(text)}\n`) },
    warn (text) {
      if (warned.has(text)) return
      warned.add(text)
      stderr.write(`${json ? JSON.stringify({ warning: { messaggio: text } }) : `Attenzione: ${line(text)}`}\n`)
    },
    fail ({ exit, codice, message, risposta }) {
      const error = { codice, messaggio: message, uscita: exit, risposta }
      const text = exit === EXIT.interrupted ? line(message) : `Errore: ${line(message)}`
      stderr.write(`${json ? JSON.stringify({ error }) : text}\n`)
    }
  }
}

/**
 * Text as it is safe to show on one line of a terminal: control characters and marks that turn the direction of
 * writing, by which a name could say something else than it does, become blanks.
 */
export function line (text: string): string {
  return text.replace(/[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+/gu, ' ')
}
