import type { Format } from '../language/formats.ts'

/** A column, as a template or the data describe it. */
export interface ColumnDescription {
  field: string
  title: string
  format: Format
  currency: string
  align: 'left' | 'center' | 'right'
  /** A percentage of the table's width. With 0 the texts determine the width. */
  width: number
  total?: 'sum' | 'count' | undefined
}

/** Italian titles of the financial report's fields. Some have a prefix `Q1` to `Q4`. */
const TITLES: Record<string, string> = {
  listingId: 'Codice',
  listingTitle: 'Alloggio',
  firstName: 'Nome',
  lastName: 'Cognome',
  Payouts: 'Incassi',
  Checkins: 'Arrivi',
  Nights: 'Notti',
  Commissions: 'Commissioni',
  Taxes: 'Imposte',
  nights: 'Notti',
  amount: 'Importo',
  currency: 'Valuta',
  date: 'Data'
}
const QUARTER = /^Q([1-4])(.+)$/

/** A readable title of a field: `Q1Payouts` is `T1 incassi`, `dataArrivo` is `Data arrivo`. */
export function titleOf (field: string): string {
  const match = QUARTER.exec(field)
  if (match) return `T${match[1]} ${titleOf(match[2]!).toLowerCase()}`
  if (Object.hasOwn(TITLES, field)) return TITLES[field]!
  // Only names of a program are rewritten: `dataArrivo`, `booking_id`. Others keep their capitals.
  if (/^\P{Ll}/u.test(field) && !/_|\p{Ll}\p{Lu}/u.test(field)) return field
  const words = field.replace(/[_-]+/g, ' ').replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2').trim()
  return words.charAt(0).toUpperCase() + words.slice(1).toLowerCase()
}
