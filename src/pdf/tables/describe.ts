import type { Value } from '../data.ts'
import { readDecimal } from '../decimal.ts'
import type { Format } from '../language/formats.ts'

/** A column as a template, or the data, describe it. */
export interface ColumnDescription {
  field: string
  title: string
  format: Format
  currency: string
  align: 'left' | 'center' | 'right'
  /** A share of the whole width; 0: as its texts need. */
  width: number
  total?: 'sum' | 'count' | undefined
}

/** The financial report's fields by their names in Italian; `Q1` to `Q4` stand before some of them. */
const TITLES: Record<string, string> = {
  listingId: 'Codice',
  listingTitle: 'Alloggio',
  firstName: 'Nome',
  lastName: 'Cognome',
  Payouts: 'incassi',
  Checkins: 'arrivi',
  Nights: 'notti'
}
const QUARTER = /^Q([1-4])(.+)$/
const MONEY = /payout|amount|earning|revenue|fee|commission|tax|price|importo|incass|prezzo|tassa|commission[ei]/i
const NO_NUMBER = /(^|_)id$|Id$|code$|codice|phone|telefono|cap$|zip/i

/** Columns for rows of which nothing is known: every field, numbers to the right, amounts and counts with a total. */
export function describeColumns (rows: readonly Value[]): ColumnDescription[] {
  const fields = new Set(rows.flatMap((row) => isRow(row) ? Object.keys(row) : []))
  return [...fields].map((field) => {
    const isNumber = !NO_NUMBER.test(field) && isNumeric(rows, field)
    const format = !isNumber ? 'text' : MONEY.test(field) ? 'currency' : 'number'
    return {
      field,
      title: titleOf(field),
      format,
      currency: 'EUR',
      align: isNumber ? 'right' : 'left',
      width: 0,
      total: isNumber ? 'sum' : undefined
    }
  })
}

/** The quarters that a report's fields speak of: `Q1Payouts` and `Q1Checkins` belong to the first. */
export function quartersOf (rows: readonly Value[]): { quarter: number, name: string, field: string }[] {
  const fields = new Set(rows.flatMap((row) => isRow(row) ? Object.keys(row) : []))
  return [...fields].flatMap((field) => {
    const match = QUARTER.exec(field)
    return match ? [{ quarter: Number(match[1]), name: match[2]!, field }] : []
  })
}

/** A field's name for people: `Q1Payouts` is `T1 incassi`, `dataArrivo` is `Data arrivo`. */
export function titleOf (field: string): string {
  const match = QUARTER.exec(field)
  if (match) return `T${match[1]} ${titleOf(match[2]!).toLowerCase()}`
  if (Object.hasOwn(TITLES, field)) return TITLES[field]!
  const words = field.replace(/[_-]+/g, ' ').replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2').trim()
  return words.charAt(0).toUpperCase() + words.slice(1).toLowerCase()
}

export function isRow (row: Value): row is Record<string, Value> {
  return typeof row === 'object' && row !== null && !Array.isArray(row)
}

function isNumeric (rows: readonly Value[], field: string): boolean {
  const values = rows
    .map((row) => isRow(row) ? row[field] : null)
    .filter((value) => value !== null && value !== undefined && value !== '')
  return values.length > 0 && values.every((value) => readDecimal(value) !== undefined)
}
