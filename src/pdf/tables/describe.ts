import { isDay } from '#src/lib/time.ts'
import { isRow, type Value } from '../data.ts'
import { readDecimal } from '../decimal.ts'
import type { Format } from '../language/formats.ts'
import { checkLimit } from '../pdf-limits.ts'

/** A column as described by a template or the data. */
export interface ColumnDescription {
  field: string
  title: string
  format: Format
  currency: string
  align: 'left' | 'center' | 'right'
  /** A percentage of the table's width; 0 sizes the column by its texts. */
  width: number
  total?: 'sum' | 'count' | undefined
}

/** Italian titles of the financial report's fields. Some have a prefix `Q1` to `Q4`. */
const TITLES: Record<string, string> = {
  listingId: 'Codice',
  listingTitle: 'Alloggio',
  firstName: 'Nome',
  lastName: 'Cognome',
  Payouts: 'incassi',
  Checkins: 'arrivi',
  Nights: 'notti',
  Commissions: 'commissioni',
  Taxes: 'imposte',
  nights: 'Notti',
  amount: 'Importo',
  currency: 'Valuta',
  date: 'Data'
}
const QUARTER = /^Q([1-4])(.+)$/
const MONEY = /payout|amount|earning|revenue|fee|commission|tax|price|importo|incass|prezzo|tassa|commission[ei]/i
/** Numbers whose sum has no meaning. */
const NO_SUM = /percent|rate$|tasso|quota|mese|month|average|media$/i
const NO_NUMBER = /(^|_)id$|Id$|code$|codice|phone|telefono|cap$|zip|year$|anno$/i

/** Infers columns from rows: every field, numbers aligned right, sums for amounts and counts. */
export function describeColumns (rows: readonly Value[]): ColumnDescription[] {
  return fieldsOf(rows).map((field) => {
    const isNumber = !NO_NUMBER.test(field) && all(rows, field, (value) => readDecimal(value) !== undefined)
    const areDays = all(rows, field, (value) => typeof value === 'string' && isDay(value))
    const format = isNumber ? MONEY.test(field) ? 'currency' : 'number' : areDays ? 'date' : 'text'
    return {
      field,
      title: titleOf(field),
      format,
      currency: 'EUR',
      align: isNumber ? 'right' : 'left',
      width: 0,
      total: isNumber && !NO_SUM.test(field) ? 'sum' : undefined
    }
  })
}

/** A readable title of a field: `Q1Payouts` is `T1 incassi`, `dataArrivo` is `Data arrivo`. */
export function titleOf (field: string): string {
  const match = QUARTER.exec(field)
  if (match) return `T${match[1]} ${titleOf(match[2]!).toLowerCase()}`
  if (Object.hasOwn(TITLES, field)) return TITLES[field]!
  const words = field.replace(/[_-]+/g, ' ').replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2').trim()
  return words.charAt(0).toUpperCase() + words.slice(1).toLowerCase()
}

/**
 * All fields of the rows, in order of first appearance.
 * @throws TemplateError for too many fields: inspecting that many columns would take minutes
 */
function fieldsOf (rows: readonly Value[]): string[] {
  const fields = new Set<string>()
  for (const row of rows) {
    if (isRow(row)) for (const field of Object.keys(row)) fields.add(field)
    checkLimit('columns', fields.size)
  }
  return [...fields]
}

/** True when the field has values and all of them match. */
function all (rows: readonly Value[], field: string, isSuch: (value: Value) => boolean): boolean {
  let found = false
  for (const row of rows) {
    const value = isRow(row) ? row[field] : null
    if (value === null || value === undefined || value === '') continue
    if (!isSuch(value)) return false
    found = true
  }
  return found
}
