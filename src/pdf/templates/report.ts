import { valueAt, type Value } from '../data.ts'
import { addDecimals, readDecimal, writeDecimal, ZERO, type Decimal } from '../decimal.ts'
import { describeColumns, quartersOf, titleOf, type ColumnDescription } from '../tables/describe.ts'

export interface ReportRequest {
  rows: readonly Value[]
  titolo?: string | undefined
  struttura?: string | undefined
  /** The day of the report. */
  data: string
}

/** More columns than these are not read on an upright sheet. */
const UPRIGHT_COLUMNS = 7
/** Totals that find room beside each other above the table. */
const BOXES = 4
const QUARTER = /^Q[1-4](.+)$/

/**
 * The data of the template of the financial report: its columns, the totals above the table, and the quarters. Amounts
 * are added exactly.
 */
export function reportData ({ rows, titolo = 'Report finanziario', struttura = '', data }: ReportRequest) {
  const colonne = describeColumns(rows)
  const trimestri = quarters(rows)
  return {
    titolo,
    struttura,
    data,
    righe: rows,
    quante: rows.length,
    colonne,
    totali: totals(rows, colonne).slice(0, BOXES),
    trimestri: trimestri.map(({ etichetta, cents }) => ({ etichetta, incassi: writeDecimal(cents) })),
    orientamento: colonne.length > UPRIGHT_COLUMNS ? 'landscape' : 'portrait'
  }
}

/** Of each kind of number over all quarters, as `Payouts`; of each column where the rows speak of no quarters. */
function totals (rows: readonly Value[], columns: readonly ColumnDescription[]) {
  const names = new Map<string, { valore: Decimal, denaro: boolean }>()
  for (const { field, total, format } of columns) {
    if (total !== 'sum') continue
    const name = QUARTER.exec(field)?.[1] ?? field
    const before = names.get(name)?.valore ?? ZERO
    names.set(name, { valore: addDecimals(before, sumOf(rows, field)), denaro: format === 'currency' })
  }
  return [...names].map(([name, { valore, denaro }]) => ({
    etichetta: `Totale ${titleOf(name).toLowerCase()}`, valore: writeDecimal(valore), denaro
  }))
}

/** The payouts of each quarter that the rows speak of, in order. */
function quarters (rows: readonly Value[]): { etichetta: string, cents: Decimal }[] {
  return quartersOf(rows)
    .filter(({ name }) => name === 'Payouts')
    .sort((a, b) => a.quarter - b.quarter)
    .map(({ quarter, field }) => ({ etichetta: `T${quarter}`, cents: sumOf(rows, field) }))
}

function sumOf (rows: readonly Value[], field: string): Decimal {
  return rows.reduce((all, row) => addDecimals(all, readDecimal(valueAt(row, field)) ?? ZERO), ZERO)
}
