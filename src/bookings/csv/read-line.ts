import type { FastifySchemaValidationError } from 'fastify'
import type { BookingCreation } from '#schemas/booking.ts'
import type { ImportError, ImportQuery } from '#schemas/booking-csv.ts'
import type { FieldError } from '#schemas/common.ts'
import { errorsOfValue } from '#src/http/validation-messages.ts'
import { searchKey } from '#src/lib/search-key.ts'
import { isDay, readDay } from '#src/lib/time.ts'
import { plainAmount, readWritten } from '#src/pdf/index.ts'
import { listCountries } from '../countries.ts'
import { newStayErrors } from '../stay.ts'
import { stateOf, type Columns, type CsvField } from './csv-columns.ts'
import { unguarded } from './formula-guard.ts'

/** The validator of `BookingCreation`. It changes empty values as in a request. */
export interface Validator { (booking: object): boolean, errors?: FastifySchemaValidationError[] | null }

interface Reading extends Pick<ImportQuery, 'paese_id' | 'lingua'> {
  columns: Columns
  /** The units by their name, folded by `searchKey`. */
  units: ReadonlyMap<string, number>
  isValid: Validator
}

/** A line of the file as a booking. The booking is complete and valid only without errors. */
export interface ReadLine { riga: number, booking: BookingCreation, errors: ImportError[] }

type Row = Readonly<Record<string, string>>
/** Converts a text, or returns an error. Returns an unknown text unchanged, so that the schema refuses it. */
type Convert = (text: string, reading: Reading) => { value: unknown } | { error: string, proposal?: string }

const COUNTRIES = new Map(listCountries().flatMap(({ id, nome, iso2, iso3 }) =>
  [nome, iso2, iso3, String(id)].map((name) => [searchKey(name), id])))

const whole: Convert = (text) => ({ value: /^\d{1,9}$/.test(text) ? Number(text) : text })
const day: Convert = (text) => {
  const first = text.split(/[T ]/, 1)[0]!
  return { value: isDay(first) ? first : readDay(first) ?? text }
}

/** The fields that are not plain text. */
const CONVERTED: Partial<Record<CsvField, Convert>> = {
  check_in: day,
  check_out: day,
  numero_notti: whole,
  numero_ospiti: whole,
  adulti: whole,
  bambini: whole,
  neonati: whole,
  stato: (text) => ({ value: stateOf(text) ?? text }),
  paese_id: (text) => {
    const id = COUNTRIES.get(searchKey(text)) ?? (/^\d{1,10}$/.test(text) ? Number(text) : undefined)
    return id === undefined
      ? { error: `«${text}» non è un paese: indicare il nome italiano o il codice ISO` }
      : { value: id }
  },
  unita_id: (text, { units }) => {
    const id = units.get(searchKey(text))
    return id === undefined
      ? { error: `nessuna unità si chiama «${text}»: creare l’unità, o togliere la colonna` }
      : { value: id }
  },
  prezzo: readPrice
}

/** A price in cents. `1.234` is refused, because the dot may group thousands or mark decimals. */
function readPrice (text: string): ReturnType<Convert> {
  const written = readWritten(text)
  const separator = written?.proves ?? ','
  if (written === undefined || separator === 'unclear') {
    return { error: `«${text}» non è un importo chiaro: scriverlo con i centesimi, per esempio 1.234,00` }
  }
  const [units = '', cents = ''] = plainAmount(written, separator)!.split('.')
  if (cents.length > 2) return { error: `«${text}» ha più di due decimali` }
  return { value: Number(units + cents.padEnd(2, '0')) }
}

/** Reads one line with the rules of a new booking. */
export function readLine (row: Row, riga: number, reading: Reading): ReadLine {
  const { columns, isValid, paese_id, lingua = 'IT' } = reading
  const parts: Partial<Record<CsvField, unknown>> = {}
  const errors: FieldError[] = []
  for (const [field, column] of Object.entries(columns.of) as [CsvField, string][]) {
    const text = unguarded(row[column]!)
    if (text === '') continue
    const converted = CONVERTED[field]?.(text, reading) ?? { value: text }
    if ('error' in converted) errors.push({ campo: field, messaggio: converted.error })
    else parts[field] = converted.value
  }
  const { id: _, nome, cognome, adulti, bambini, neonati, ...given } = parts
  const people = [adulti, bambini, neonati].filter((count) => count !== undefined)
  const booking = {
    lingua,
    ...paese_id !== undefined && { paese_id },
    ...nome !== undefined || cognome !== undefined
      ? { nome_cognome: [nome, cognome].filter((name) => name !== undefined).join(' ') }
      : {},
    ...people.length > 0 && { numero_ospiti: people.reduce<number>((sum, count) => sum + Number(count), 0) },
    ...given
  }
  const named = new Set(errors.map(({ campo }) => campo))
  const invalid = isValid(booking) ? [] : errorsOfValue(isValid.errors ?? [], booking)
  for (const error of [...invalid, ...newStayErrors(booking)]) {
    if (named.has(error.campo)) continue
    named.add(error.campo)
    errors.push(error)
  }
  return { riga, booking: booking as BookingCreation, errors: errors.map((error) => inFile(error, riga, columns)) }
}

/** The CSV fields whose column an error may name, by field of the booking. The first in the file is named. */
const MADE_OF: Partial<Record<string, readonly CsvField[]>> = {
  nome_cognome: ['nome_cognome', 'cognome', 'nome'], numero_ospiti: ['numero_ospiti', 'adulti']
}

/** The error of a field, with its line and column in the file. The column is null if the file has none. */
export function inFile ({ campo, ...error }: FieldError, riga: number, { of }: Columns): ImportError {
  const column = (MADE_OF[campo] ?? [campo as CsvField]).map((field) => of[field]).find((name) => name !== undefined)
  return { riga, colonna: column ?? null, campo, ...error }
}
