import { valueAt, type Value } from '../data.ts'
import { addDecimals, readDecimal, writeDecimal, ZERO } from '../decimal.ts'
import { TemplateError } from '../errors.ts'
import { FORMATS, formatValue, isCurrency, isNumberFormat, type Language } from '../language/formats.ts'
import { checkLimit } from '../pdf-limits.ts'
import type { Checked } from '../markup/check-markup.ts'
import { listAt, type Build } from '../layout/build.ts'
import { fitted } from '../layout/inline.ts'
import { widthOf } from '../text/measure.ts'
import { describeColumns, titleOf, type ColumnDescription } from './describe.ts'
import { groupBy } from './row-groups.ts'

export interface Column extends ColumnDescription {
  /** Fraction of the table's width; all columns together are 1. */
  share: number
}

/** A line of a table: a row, or the subtotal of the group above it. */
interface TableLine { cells: string[], isTotal: boolean }

/** A table with formatted cells, fitted to the document's fonts. */
export interface PreparedTable { columns: Column[], rows: TableLine[], totals: string[] | undefined, fontSize: number }

const TOTAL = { it: 'Totale', en: 'Total', de: 'Summe', fr: 'Total' }
const ALIGNS = ['left', 'center', 'right'] as const
/** Points of padding in a cell, minimum column width, and rows sampled for column widths. */
const PADDING = 10
const NARROWEST = 24
const SAMPLE = 500

/**
 * @param width the table's width in points
 * @throws TemplateError when the data have no list of objects at the path, or exceed the limits
 */
export function prepareTable (
  { values, children, place }: Checked<'table'>,
  width: number,
  build: Build
): PreparedTable {
  const rows = rowsAt(build, values.data!, place)
  const described = values.columns !== undefined
    ? columnsAt(build, values.columns, place)
    : children.filter((child) => child.name === 'col').map(({ values }) => completed(values.field!, values))
  const columns = described.length > 0 ? described : describeColumns(rows)
  checkLimit('columns', columns.length, place)
  const { language } = build
  const cellsOf = (row: Value) => columns.map((column) => cell(valueAt(row, column.field), column, build))
  const lines = values.group === undefined
    ? rows.map((row) => ({ cells: cellsOf(row), isTotal: false }))
    : groupBy(rows, values.group).flatMap(({ name, rows }) => [
      ...rows.map((row) => ({ cells: cellsOf(row), isTotal: false })),
      ...(rows.length > 1 ? subtotalOf(rows, { field: values.group!, name }, columns, build) : [])
    ])
  const texts = lines.map(({ cells }) => cells)
  const fontSize = values['font-size'] ?? Math.max(6, Math.min(9, 110 / Math.max(1, columns.length)))
  const titles = columns.map(({ title }) => fitted(title, build))
  const totals = totalsOf(rows, columns, language)?.map((text) => fitted(text, build))
  const sample = texts.length <= SAMPLE ? texts : [...texts.slice(0, SAMPLE / 2), ...texts.slice(-SAMPLE / 2)]
  const shares = sharesOf(columns, [titles, totals ?? [], ...sample], fontSize, width)
  return {
    columns: columns.map((column, at) => ({ ...column, title: titles[at]!, share: shares[at]! })),
    rows: lines,
    totals,
    fontSize
  }
}

function cell (value: Value | undefined, { format, currency }: ColumnDescription, build: Build): string {
  const text = formatValue(value, format, build.language, currency)
  checkLimit('text', text.length)
  return fitted(text.replace(/\s+/g, ' ').trim(), build)
}

/** Exact totals of the columns that want one. The first column without a total holds the label. */
function totalsOf (rows: readonly Value[], columns: ColumnDescription[], language: Language): string[] | undefined {
  if (rows.length === 0 || columns.every(({ total }) => total === undefined)) return undefined
  const texts = columns.map(({ field, format, currency, total }) => {
    if (total === undefined) return ''
    const values = rows.map((row) => valueAt(row, field))
    if (total === 'count') {
      const filled = values.filter((value) => value !== null && value !== undefined && value !== '')
      return formatValue(filled.length, 'integer', language)
    }
    const sum = values.map(readDecimal).reduce((all, value) => addDecimals(all!, value ?? ZERO), ZERO)!
    return formatValue(writeDecimal(sum), format, language, currency)
  })
  const label = texts.indexOf('')
  if (label !== -1) texts[label] = TOTAL[language]
  return texts
}

/** The subtotal of a group. The group's name is written into its own column, if that has no total. */
function subtotalOf (
  rows: readonly Value[], { field, name }: { field: string, name: string }, columns: ColumnDescription[], build: Build
): TableLine[] {
  const totals = totalsOf(rows, columns, build.language)
  if (totals === undefined) return []
  const own = columns.findIndex((column) => column.field === field)
  if (own !== -1 && columns[own]!.total === undefined) {
    totals[own] = totals[own] === '' ? name : `${totals[own]} ${name}`
  }
  return [{ cells: totals.map((text) => fitted(text, build)), isTotal: true }]
}

function rowsAt (build: Build, path: string, place: Checked['place']): Value[] {
  const rows = listAt(build, path, place, true)
  checkLimit('rows', rows.length, place)
  return rows
}

function columnsAt (build: Build, path: string, place: Checked['place']): ColumnDescription[] {
  return rowsAt(build, path, place).map((description) => {
    const { field, title, format, currency, align, total } = description as Record<string, Value>
    if (typeof field !== 'string') throw new TemplateError('DATI_NON_VALIDI', `«${path}» non descrive colonne`, place)
    return completed(field, {
      title: typeof title === 'string' ? title : undefined,
      format: FORMATS.find((name) => name === format),
      currency: typeof currency === 'string' && isCurrency(currency) ? currency : undefined,
      align: ALIGNS.find((name) => name === align),
      total: total === 'sum' || total === 'count' ? total : undefined
    })
  })
}

type Given = { [K in keyof ColumnDescription]?: ColumnDescription[K] | undefined }

function completed (field: string, given: Given): ColumnDescription {
  const format = given.format ?? 'text'
  return {
    field,
    title: given.title ?? titleOf(field),
    format,
    currency: given.currency ?? 'EUR',
    align: given.align ?? (isNumberFormat(format) ? 'right' : 'left'),
    width: given.width ?? 0,
    total: given.total
  }
}

/**
 * Distributes the table's width. Given widths are kept. Numbers and dates get all they need, because a shortened number
 * is a wrong one. Short texts get what they need, and long ones share the rest.
 */
function sharesOf (
  columns: readonly ColumnDescription[],
  texts: string[][],
  fontSize: number,
  width: number
): number[] {
  const wanted = columns.map((column, at) => {
    if (column.width > 0) return column.width / 100 * width
    // The first two lines, head and totals, are bold.
    const [title = 0, total = 0, ...lengths] = texts.map((row, line) =>
      widthOf(row[at] ?? '', line < 2 ? 700 : 400, fontSize))
    lengths.sort((a, b) => a - b)
    const usual = lengths[Math.floor((lengths.length - 1) * (column.format === 'text' ? 0.95 : 1))] ?? 0
    return Math.max(NARROWEST, Math.min(title, usual * 2), usual, total) + PADDING
  })
  const firm = columns.map(({ width, format }) => width > 0 || format !== 'text')
  const left = Math.max(width - sum(wanted.filter((_, at) => firm[at])), width * 0.2)
  const ceiling = ceilingFor(wanted.filter((_, at) => !firm[at]), left)
  const granted = wanted.map((want, at) => firm[at] ? want : Math.min(want, ceiling))
  return granted.map((each) => each / sum(granted))
}

/** The maximum width of a text column, so that all of them fit into `room`. */
function ceilingFor (wanted: readonly number[], room: number): number {
  let left = room
  const sorted = [...wanted].sort((a, b) => a - b)
  for (const [at, want] of sorted.entries()) {
    const share = left / (sorted.length - at)
    if (want > share) return share
    left -= want
  }
  return Infinity
}

function sum (numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0)
}
