import { valueAt, type Value } from '../data.ts'
import {
  addDecimals, approximate, sumByCurrency, writeDecimal, writeMoney, ZERO, type Decimal
} from '../decimal.ts'
import type { Warning } from '../layout/build.ts'
import { titleOf, type ColumnDescription } from '../tables/column-description.ts'
import { readRows, type ReadOptions } from '../tables/read-rows.ts'
import { groupBy, groupFieldOf, type Group } from '../tables/row-groups.ts'

export interface ReportRequest extends ReadOptions {
  rows: readonly Value[]
  titolo?: string | undefined
  struttura?: string | undefined
  /** The day of the report. */
  data: string
}

/** Maximum columns in portrait format. With more columns the page is in landscape format. */
const UPRIGHT_COLUMNS = 7
/** Maximum letters of a row in portrait format, counting the longest word of each column. Words over `WORD` break. */
const UPRIGHT_LETTERS = 100
const WORD = 24
const SAMPLE = 500
/** Maximum totals above the table, and in each listing's summary. */
const BOXES = 4
/** Maximum bars of the chart. */
const BARS = 12
const QUARTER = /^Q[1-4](.+)$/

/**
 * Builds the data of the financial report's template: columns, totals, quarters and listings. Sums are exact.
 * @throws TemplateError like `readRows`
 */
export function reportData (
  { rows: given, titolo = 'Report finanziario', struttura, data, ...options }: ReportRequest
): { data: Record<string, unknown>, warnings: Warning[] } {
  const { rows, columns, warnings } = readRows(given, options)
  const measures = measuresOf(rows, columns)
  const [first] = measures
  const field = groupFieldOf(rows)
  const groups = field === undefined || first === undefined ? [] : groupBy(rows, field)
  const hasSubtotals = groups.length < rows.length && groups.length > 1
  return {
    data: {
      titolo,
      // Liquid treats an empty string as true.
      struttura: struttura?.trim() || null,
      data,
      righe: rows,
      quante: rows.length,
      colonne: columns,
      gruppo: hasSubtotals ? field : undefined,
      totali: measures.slice(0, BOXES).map((measure) => ({
        etichetta: `Totale ${titleOf(measure.name).toLowerCase()}${measure.isOnly ? '' : ` ${measure.currency}`}`,
        valore: valueOf(measure, measure.sum),
        denaro: measure.currency !== ''
      })),
      trimestri: quarters(rows, columns, first),
      alloggi: groups.map((group) => summaryOf(group, measures)),
      colonne_alloggi: summaryColumns(measures),
      grafico: barsOf(groups, first),
      misura: first === undefined ? '' : capitalized(titleOf(first.name)),
      denaro: first !== undefined && first.currency !== '',
      valuta: first?.currency || 'EUR',
      orientamento: isWide(rows, columns) ? 'landscape' : 'portrait'
    },
    warnings
  }
}

/** True when the columns need the long side of the sheet. */
function isWide (rows: readonly Value[], columns: readonly ColumnDescription[]): boolean {
  if (columns.length > UPRIGHT_COLUMNS) return true
  const longest = (text: string) => Math.max(...text.split(/\s+/).map(({ length }) => length))
  const letters = columns.map(({ field, title, format }) => rows.slice(0, SAMPLE).reduce<number>((most, row) => {
    const text = String(valueAt(row, field) ?? '')
    return Math.max(most, format === 'text' ? Math.min(longest(text), WORD) : text.length)
  }, longest(title)))
  return letters.reduce((all, each) => all + each + 2, 0) > UPRIGHT_LETTERS
}

/** A measure in one currency: one column, or the same number over all quarters (`Payouts`). */
interface Measure {
  name: string
  /** `''` for numbers that are not money. */
  currency: string
  fields: ColumnDescription[]
  sum: Decimal
  /** The measure has no amounts in another currency. */
  isOnly: boolean
}

/** The measures that have totals, money first. */
function measuresOf (rows: readonly Value[], columns: readonly ColumnDescription[]): Measure[] {
  const added = columns.filter(({ total }) => total === 'sum')
  const byName = Map.groupBy(added, ({ field }) => QUARTER.exec(field)?.[1] ?? field)
  return [...byName].flatMap(([name, fields]) => {
    const sums = sumsOf(rows, fields)
    if (sums.size === 0) sums.set(usualOf(fields[0]!), ZERO)
    return [...sums].map(([currency, sum]): Measure => ({ name, currency, fields, sum, isOnly: sums.size === 1 }))
  }).sort((a, b) => Number(b.currency !== '') - Number(a.currency !== ''))
}

function usualOf ({ format, currency }: ColumnDescription): string {
  return format === 'currency' ? currency : ''
}

/** The sums of columns by currency. */
function sumsOf (rows: readonly Value[], columns: readonly ColumnDescription[]): Map<string, Decimal> {
  const sums = new Map<string, Decimal>()
  for (const column of columns) {
    const values = rows.map((row) => valueAt(row, column.field))
    for (const [currency, sum] of sumByCurrency(values, usualOf(column))) {
      sums.set(currency, addDecimals(sums.get(currency) ?? ZERO, sum))
    }
  }
  return sums
}

/** The sum of a measure over some rows. */
function sumOf (rows: readonly Value[], { fields, currency }: Pick<Measure, 'fields' | 'currency'>): Decimal {
  return sumsOf(rows, fields).get(currency) ?? ZERO
}

function valueOf ({ currency }: Measure, sum: Decimal): string {
  return currency === '' ? writeDecimal(sum) : writeMoney(sum, currency)
}

/** A listing's summary: its rows, its totals, and its share of the first measure. */
function summaryOf ({ name, rows }: Group, measures: readonly Measure[]): Record<string, Value> {
  const shown = measures.slice(0, BOXES)
  const sums = shown.map((measure) => sumOf(rows, measure))
  const share = approximate(sums[0] ?? ZERO) / approximate(measures[0]?.sum ?? ZERO)
  return {
    nome: name,
    righe: rows.length,
    ...Object.fromEntries(sums.map((sum, at) => [`totale${at}`, writeDecimal(sum)])),
    quota: Number.isFinite(share) ? share.toFixed(4) : null
  }
}

function summaryColumns (measures: readonly Measure[]): Record<string, Value>[] {
  return [
    { field: 'nome', title: 'Alloggio' },
    { field: 'righe', title: 'Righe', format: 'integer', total: 'sum' },
    ...measures.slice(0, BOXES).map(({ name, currency, isOnly }, at) => ({
      field: `totale${at}`,
      title: `${capitalized(titleOf(name))}${isOnly ? '' : ` ${currency}`}`,
      ...(currency === '' ? { format: 'number' } : { format: 'currency', currency }),
      total: 'sum'
    })),
    ...((measures[0]?.sum.units ?? 0n) > 0n ? [{ field: 'quota', title: 'Quota', format: 'percent' }] : [])
  ]
}

/** The first measure of each listing, largest first. Listings beyond the limit share one bar. */
function barsOf (groups: readonly Group[], measure: Measure | undefined): Record<string, Value>[] {
  if (measure === undefined || groups.length < 2) return []
  const bars = groups.map(({ name, rows }) => ({ etichetta: name, valore: sumOf(rows, measure) }))
    .sort((a, b) => approximate(b.valore) - approximate(a.valore))
  const shown = bars.length <= BARS ? bars : bars.slice(0, BARS - 1)
  const others = bars.slice(shown.length)
  const rest = others.reduce((sum, { valore }) => addDecimals(sum, valore), ZERO)
  return [...shown, ...(others.length > 0 ? [{ etichetta: `Altri ${others.length}`, valore: rest }] : [])]
    .map(({ etichetta, valore }) => ({ etichetta, valore: writeDecimal(valore) }))
}

/** The payouts of each quarter that has a column, in order, in the currency of the first measure. */
function quarters (
  rows: readonly Value[], columns: readonly ColumnDescription[], measure: Measure | undefined
): Record<string, Value>[] {
  return [1, 2, 3, 4].flatMap((quarter) => {
    const column = columns.find(({ field }) => field === `Q${quarter}Payouts`)
    if (column === undefined || measure === undefined) return []
    const incassi = sumOf(rows, { fields: [column], currency: measure.currency })
    return [{ etichetta: `T${quarter}`, incassi: writeDecimal(incassi) }]
  })
}

function capitalized (text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
