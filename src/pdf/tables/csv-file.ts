import { CsvError, parse } from 'csv-parse/sync'
import { utf16Of } from '#src/lib/utf8.ts'
import type { Value } from '../data.ts'
import { TemplateError, type Place } from '../errors.ts'
import { checkLimit, ROWS_MAX } from '../pdf-limits.ts'

/** The rows of a file, all values as texts, and their lines. */
export interface CsvTable { rows: Record<string, Value>[], lines: number[] }

const DELIMITERS = [',', ';', '\t', '|']
const NAME_LENGTH = 100
/** Maximum bytes of a record, more than any real row has. */
const RECORD_MAX = 100_000
/** Excel's optional first line, which names the delimiter. */
const SEPARATOR_LINE = /^\uFEFF?sep=([,;\t|])(?=\r?\n)/i
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
 * frequent candidate in the header wins. Columns without a name and without values are left out.
 * @throws TemplateError with line and column at fault
 */
export function readCsv (bytes: Uint8Array): CsvTable {
  const [header, ...rest] = parseRecords(decode(bytes))
  if (!header) throw new TemplateError('CSV_NON_VALIDO', 'il file non ha righe')
  const names = header.record.map((name) => name.trim())
  const isFilled = (at: number) => names[at] !== '' || rest.some(({ record }) => record[at]!.trim() !== '')
  const used = [...names.keys()].filter(isFilled)
  checkNames(names, used, header.info.lines)
  checkLimit('rows', rest.length)
  return {
    rows: rest.map(({ record }) => Object.fromEntries(used.map((at) => [names[at]!, record[at]!.trim()]))),
    lines: rest.map(({ info }) => info.lines)
  }
}

/** Decodes UTF-16, UTF-8 or, when that is invalid, Windows-1252 as western Excel writes it. */
function decode (bytes: Uint8Array): string {
  let text: string
  try {
    text = new TextDecoder(utf16Of(bytes) ?? 'utf-8', { fatal: true }).decode(bytes)
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
    // Keep the line end of the `sep=` line, so that line numbers stay correct.
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
    const { code, lines = 1, index = 0 } = err as CsvError & { lines?: number, index?: number }
    throw fault(FAULTS[code] ?? 'non è CSV valido', { riga: lines, colonna: index + 1 })
  }
}

/** The most frequent delimiter in the header. Quoted text does not count. */
function delimiterOf (text: string): string {
  const first = /^(?:"(?:[^"]|"")*"|[^"\r\n])*/.exec(text.slice(0, RECORD_MAX))![0]
  const bare = first.replace(/"(?:[^"]|"")*"/g, '')
  const counts = DELIMITERS.map((each) => bare.split(each).length)
  return DELIMITERS[counts.indexOf(Math.max(...counts))]!
}

function checkNames (names: readonly string[], used: readonly number[], line: number): void {
  checkLimit('columns', used.length)
  for (const at of used) {
    const name = names[at]!
    const place = { riga: line, colonna: at + 1 }
    if (name === '') throw fault('la colonna non ha nome', place)
    if (name.length > NAME_LENGTH) throw fault('la colonna ha un nome troppo lungo', place)
    if (names.indexOf(name) !== at) throw fault(`la colonna «${name}» è ripetuta`, place)
  }
}

function fault (message: string, place: Place): TemplateError {
  return new TemplateError('CSV_NON_VALIDO', message, place)
}
