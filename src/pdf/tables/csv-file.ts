import { CsvError, parse } from 'csv-parse/sync'
import type { Value } from '../data.ts'
import { TemplateError } from '../errors.ts'
import { checkLimit, ROWS_MAX } from '../pdf-limits.ts'

/**
 * `decimali` is the file's decimal separator: `1234.50` or `1.234,50`. Without it, a value that may be an Italian
 * number is refused, because a wrong guess is wrong by a factor of a thousand.
 */
export interface CsvFile { bytes: Uint8Array, decimali?: 'punto' | 'virgola' | undefined }

const DELIMITERS = [',', ';', '\t', '|']
const NAME_LENGTH = 100
/** Maximum bytes of a record, more than any real row. */
const RECORD_MAX = 100_000
/** Excel's optional first line, which names the delimiter. */
const SEPARATOR_LINE = /^\uFEFF?sep=([,;\t|])(?=\r?\n)/i
const ITALIAN = /^([+-]?)(\d{1,3}(?:\.\d{3})*|\d+)(?:,(\d{1,18}))?$/
/** Thousands groups or a comma: a file with decimal dots contains neither. */
const MAY_BE_ITALIAN = /^[+-]?(?:[1-9]\d{0,2}(?:\.\d{3})+(?:,\d{1,18})?|\d{1,18},\d{1,18})$/

/** Italian messages for the library's errors. */
const FAULTS: Record<string, string> = {
  CSV_RECORD_INCONSISTENT_FIELDS_LENGTH: 'non ha tanti campi quante sono le colonne',
  CSV_QUOTE_NOT_CLOSED: 'le virgolette non sono chiuse',
  CSV_INVALID_CLOSING_QUOTE: 'dopo le virgolette c’è ancora del testo',
  INVALID_OPENING_QUOTE: 'le virgolette stanno in mezzo a un campo',
  CSV_MAX_RECORD_SIZE: 'è troppo lunga'
}

/**
 * Parses a CSV file into objects keyed by the header line. Excel's `sep=` line sets the delimiter; otherwise the most
 * frequent candidate in the header wins. Values are strings, and Italian numbers are rewritten with a decimal dot.
 * @throws TemplateError with the line at fault
 */
export function readCsv ({ bytes, decimali }: CsvFile): Record<string, Value>[] {
  const [header, ...rest] = parseRecords(decode(bytes))
  if (!header) throw new TemplateError('CSV_NON_VALIDO', 'il file non ha righe')
  const names = header.record.map((name) => name.trim())
  checkNames(names)
  checkLimit('rows', rest.length)
  return rest.map(({ record, info }) => Object.fromEntries(names.map((name, at) => {
    const value = record[at]!.trim()
    if (decimali === undefined && MAY_BE_ITALIAN.test(value)) {
      const message = `di «${value}» non si sa che cosa separi i decimali: indicare decimali=virgola o decimali=punto`
      throw fault(message, info.lines)
    }
    return [name, decimali === 'virgola' ? plainNumber(value) : value]
  })))
}

/** Decodes UTF-8 or, when that is invalid, Windows-1252 as western Excel writes it. */
function decode (bytes: Uint8Array): string {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    text = new TextDecoder('windows-1252').decode(bytes)
  }
  if (text.includes('\0')) throw new TemplateError('CSV_NON_VALIDO', 'il file non è un testo')
  return text
}

interface Read { record: string[], info: { lines: number } }

function parseRecords (text: string): Read[] {
  const said = SEPARATOR_LINE.exec(text)
  const delimiter = said?.[1] ?? delimiterOf(text)
  try {
    // Keep the line end of Excel's line, so that line numbers stay correct.
    return parse(said ? text.slice(said[0].length) : text, {
      delimiter,
      info: true,
      skip_empty_lines: true,
      max_record_size: RECORD_MAX,
      // The header and one row beyond the limit, so that `checkLimit` sees the excess.
      to: ROWS_MAX + 2
    }) as unknown as Read[]
  } catch (err) {
    if (!(err instanceof CsvError)) throw err
    const { code, lines } = err as CsvError & { lines?: number }
    throw fault(FAULTS[code] ?? 'non è CSV valido', lines ?? 1)
  }
}

/** The most frequent delimiter in the header, ignoring quoted text. */
function delimiterOf (text: string): string {
  const first = /^(?:"(?:[^"]|"")*"|[^"\r\n])*/.exec(text.slice(0, RECORD_MAX))![0]
  const bare = first.replace(/"(?:[^"]|"")*"/g, '')
  const counts = DELIMITERS.map((each) => bare.split(each).length)
  return DELIMITERS[counts.indexOf(Math.max(...counts))]!
}

function checkNames (names: readonly string[]): void {
  checkLimit('columns', names.length)
  for (const [at, name] of names.entries()) {
    if (name === '') throw fault(`la colonna ${at + 1} non ha nome`, 1)
    if (name.length > NAME_LENGTH) throw fault(`la colonna ${at + 1} ha un nome troppo lungo`, 1)
    if (names.indexOf(name) !== at) throw fault(`la colonna «${name}» è ripetuta`, 1)
  }
}

function plainNumber (value: string): string {
  const match = ITALIAN.exec(value)
  if (!match) return value
  const [, sign, whole = '', decimals] = match
  return `${sign}${whole.replaceAll('.', '')}${decimals === undefined ? '' : `.${decimals}`}`
}

function fault (message: string, riga: number): TemplateError {
  return new TemplateError('CSV_NON_VALIDO', message, { riga, colonna: 1 })
}
