import { CsvError, parse } from 'csv-parse/sync'
import { utf16Of } from './utf8.ts'

/** The rows of a file, all values as texts, and their lines. `names` are the columns. */
export interface CsvTable { names: string[], rows: Record<string, string>[], lines: number[] }

/** An error in a CSV file. Line and column count from 1. */
export class CsvFault extends Error {
  readonly place: { riga: number, colonna: number } | undefined
  constructor (message: string, place?: CsvFault['place']) {
    super(message)
    this.place = place
  }
}

interface Limits {
  rowsMax: number
  /** Checks the number of columns, then of rows, which is at most `rowsMax` + 1. It throws for too many. */
  check (what: 'columns' | 'rows', count: number): void
}

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
 * Parses a CSV file into objects keyed by the header line. Excel's `sep=` line sets the delimiter. Otherwise the
 * delimiter is the most frequent candidate in the header. Columns without a name and without values are left out.
 * @throws CsvFault with the line and column of the error, and errors of `check`
 */
export function readCsv (bytes: Uint8Array, { rowsMax, check }: Limits): CsvTable {
  const [header, ...rest] = parseRecords(decode(bytes), rowsMax)
  if (!header) throw new CsvFault('il file non ha righe')
  const names = header.record.map((name) => name.trim())
  const isFilled = (at: number) => names[at] !== '' || rest.some(({ record }) => record[at]!.trim() !== '')
  const used = [...names.keys()].filter(isFilled)
  check('columns', used.length)
  checkNames(names, used, header.info.lines)
  check('rows', rest.length)
  return {
    names: used.map((at) => names[at]!),
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
  if (text.includes('\0')) throw new CsvFault('il file non è un testo')
  return text
}

interface Read { record: string[], info: { lines: number } }

function parseRecords (text: string, rowsMax: number): Read[] {
  const separator = SEPARATOR_LINE.exec(text)
  const delimiter = separator?.[1] ?? delimiterOf(text)
  checkLines(text)
  try {
    // The types of csv-parse do not know the rows of `info: true`.
    // Keep the line end of the `sep=` line, so that line numbers stay correct.
    return parse(separator ? text.slice(separator[0].length) : text, {
      delimiter,
      info: true,
      skip_empty_lines: true,
      max_record_size: RECORD_MAX,
      // The header and one row beyond the limit, so that `check` sees the excess.
      to: rowsMax + 2
    }) as unknown as Read[]
  } catch (err) {
    if (!(err instanceof CsvError)) throw err
    const { code, lines = 1, index = 0 } = err as CsvError & { lines?: number, index?: number }
    throw new CsvFault(FAULTS[code] ?? 'non è CSV valido', { riga: lines, colonna: index + 1 })
  }
}

/** Refuses a line of delimiters, which `max_record_size` does not count. Parsing it would block the process. */
function checkLines (text: string): void {
  const end = text.includes('\n') ? '\n' : '\r'
  let start = 0
  for (let riga = 1; start < text.length; riga++) {
    const next = text.indexOf(end, start) + 1 || text.length
    if (next - start > 2 * RECORD_MAX) throw new CsvFault(FAULTS.CSV_MAX_RECORD_SIZE!, { riga, colonna: 1 })
    start = next
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
  for (const at of used) {
    const name = names[at]!
    const place = { riga: line, colonna: at + 1 }
    if (name === '') throw new CsvFault('la colonna non ha nome', place)
    if (name.length > NAME_LENGTH) throw new CsvFault('la colonna ha un nome troppo lungo', place)
    if (names.indexOf(name) !== at) throw new CsvFault(`la colonna «${name}» è ripetuta`, place)
  }
}
