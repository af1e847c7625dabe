import { valueAt, type Value } from '../data.ts'
import { addDecimals, approximate, readDecimal, writeDecimal, ZERO, type Decimal } from '../decimal.ts'
import { describeColumns, titleOf, type ColumnDescription } from '../tables/describe.ts'
import { groupBy, groupFieldOf, type Group } from '../tables/row-groups.ts'

export interface ReportRequest {
  rows: readonly Value[]
  titolo?: string | undefined
  struttura?: string | undefined
  /** The day of the report. */
  data: string
}

/** Maximum columns in portrait; more switch to landscape. */
const UPRIGHT_COLUMNS = 7
/** Maximum totals in the row above the table. */
const BOXES = 4
/** Maximum bars of the chart. */
const BARS = 12
const QUARTER = /^Q[1-4](.+)$/

/** Builds the data of the financial report's template: columns, totals, quarters and listings. Sums are exact. */
export function reportData ({ rows, titolo = 'Report finanziario', struttura, data }: ReportRequest) {
  const colonne = describeColumns(rows)
  const kinds = kindsOf(colonne)
  const totali = kinds.map((kind) => ({ ...kind, valore: sumOf(rows, kind.fields) }))
  const field = groupFieldOf(rows)
  const groups = field === undefined || kinds.length === 0 ? [] : groupBy(rows, field)
  const hasSubtotals = groups.length < rows.length && groups.length > 1
  const alloggi = groups.map((group) => summaryOf(group, kinds, totali[0]?.valore ?? ZERO))
  return {
    titolo,
    // Liquid treats an empty string as true.
    struttura: struttura?.trim() || null,
    data,
    righe: rows,
    quante: rows.length,
    colonne,
    gruppo: hasSubtotals ? field : undefined,
    totali: totali.slice(0, BOXES).map(({ name, denaro, valore }) => ({
      etichetta: `Totale ${titleOf(name).toLowerCase()}`, valore: writeDecimal(valore), denaro
    })),
    trimestri: quarters(rows, colonne),
    alloggi,
    colonne_alloggi: summaryColumns(kinds, totali[0]?.valore ?? ZERO),
    grafico: barsOf(groups, kinds[0]),
    misura: kinds[0] === undefined ? '' : capitalized(titleOf(kinds[0].name)),
    denaro: kinds[0]?.denaro ?? false,
    orientamento: colonne.length > UPRIGHT_COLUMNS ? 'landscape' : 'portrait'
  }
}

/** A measure: one column, or the same number over all quarters (`Payouts`). */
interface Kind { name: string, denaro: boolean, fields: string[] }

/** The measures that have totals, money first. */
function kindsOf (columns: readonly ColumnDescription[]): Kind[] {
  const kinds = new Map<string, Kind>()
  for (const { field, total, format } of columns) {
    if (total !== 'sum') continue
    const name = QUARTER.exec(field)?.[1] ?? field
    const known = kinds.get(name)
    if (known) known.fields.push(field)
    else kinds.set(name, { name, denaro: format === 'currency', fields: [field] })
  }
  return [...kinds.values()].sort((a, b) => Number(b.denaro) - Number(a.denaro))
}

/** A listing's summary: its rows, its totals, and its share of the first measure. */
function summaryOf ({ name, rows }: Group, kinds: readonly Kind[], whole: Decimal): Record<string, Value> {
  const sums = kinds.slice(0, BOXES).map(({ fields }) => sumOf(rows, fields))
  const share = approximate(sums[0] ?? ZERO) / approximate(whole)
  return {
    nome: name,
    righe: rows.length,
    ...Object.fromEntries(sums.map((sum, at) => [`totale${at}`, writeDecimal(sum)])),
    quota: Number.isFinite(share) ? share.toFixed(4) : null
  }
}

function summaryColumns (kinds: readonly Kind[], whole: Decimal): Record<string, Value>[] {
  return [
    { field: 'nome', title: 'Alloggio' },
    { field: 'righe', title: 'Righe', format: 'integer', total: 'sum' },
    ...kinds.slice(0, BOXES).map(({ name, denaro }, at) => ({
      field: `totale${at}`, title: capitalized(titleOf(name)), format: denaro ? 'currency' : 'number', total: 'sum'
    })),
    ...(whole.units > 0n ? [{ field: 'quota', title: 'Quota', format: 'percent' }] : [])
  ]
}

/** The first measure by listing, largest first. Listings beyond the limit are one bar. */
function barsOf (groups: readonly Group[], kind: Kind | undefined): Record<string, Value>[] {
  if (kind === undefined || groups.length < 2) return []
  const bars = groups.map(({ name, rows }) => ({ etichetta: name, valore: sumOf(rows, kind.fields) }))
    .sort((a, b) => approximate(b.valore) - approximate(a.valore))
  const shown = bars.length <= BARS ? bars : bars.slice(0, BARS - 1)
  const others = bars.slice(shown.length)
  const rest = others.reduce((sum, { valore }) => addDecimals(sum, valore), ZERO)
  return [...shown, ...(others.length > 0 ? [{ etichetta: `Altri ${others.length}`, valore: rest }] : [])]
    .map(({ etichetta, valore }) => ({ etichetta, valore: writeDecimal(valore) }))
}

/** The payouts of each quarter that has a column, in order. */
function quarters (rows: readonly Value[], columns: readonly ColumnDescription[]): Record<string, Value>[] {
  return [1, 2, 3, 4].map((quarter) => ({ quarter, field: `Q${quarter}Payouts` }))
    .filter(({ field }) => columns.some((column) => column.field === field))
    .map(({ quarter, field }) => ({ etichetta: `T${quarter}`, incassi: writeDecimal(sumOf(rows, [field])) }))
}

function capitalized (text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function sumOf (rows: readonly Value[], fields: readonly string[]): Decimal {
  let sum = ZERO
  for (const row of rows) {
    for (const field of fields) {
      const value = readDecimal(valueAt(row, field))
      if (value !== undefined) sum = addDecimals(sum, value)
    }
  }
  return sum
}
