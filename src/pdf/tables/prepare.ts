import { valueAt, type Value } from '../data.ts'
import { sumByCurrency, writeDecimal, ZERO } from '../decimal.ts'
import { TemplateError } from '../errors.ts'
import { FORMATS, formatValue, isCurrency, isNumberFormat, type Language } from '../language/formats.ts'
import { checkLimit } from '../pdf-limits.ts'
import type { Checked } from '../markup/check-markup.ts'
import { listAt, type Build } from '../layout/build.ts'
import { fitted } from '../layout/inline.ts'
import { titleOf, type ColumnDescription } from './column-description.ts'
import { readRows } from './read-rows.ts'
import { groupBy, type Group } from './row-groups.ts'
import { arrange, needsOf, sharesOf } from './widths.ts'

export interface Column extends ColumnDescription {
  /** Fraction of the table's width. The fractions of all columns add up to 1. */
  share: number
}

/** A line of a table: a row, or the subtotal of the group before it. */
interface TableLine { cells: string[], isTotal: boolean }

/** A line of totals, not yet labelled. `word` is its label, and `own` is the column for the group's name. */
interface TotalLine { cells: string[], word: string, group?: { name: string, own: number } }

/** A table with formatted cells, fitted to the document's fonts. */
export interface PreparedTable { columns: Column[], rows: TableLine[], totals: string[][], fontSize: number }

/** The width of a table in points, and whether its cells wrap. Otherwise they are cut. */
interface TableRoom { width: number, wraps: boolean }

const TOTAL = { it: 'Totale', en: 'Total', de: 'Summe', fr: 'Total' }
const ALIGNS = ['left', 'center', 'right'] as const
/** Rows sampled for column widths. */
const SAMPLE = 500
/** Font sizes of tables. The first with which all columns fit is used. */
const FONT_SIZES = [9, 8, 7, 6.5]

/**
 * Prepares a table. A table that is too wide even in the smallest font is split by columns into several tables. Each
 * repeats the column that best identifies a row, if that column is narrow.
 * @throws TemplateError when the value at the path is not a list of objects, or the table exceeds the limits
 */
export function prepareTables (
  { values, children, place }: Checked<'table'>,
  { width, wraps }: TableRoom,
  build: Build
): PreparedTable[] {
  const given = rowsAt(build, values.data!, place)
  const described = values.columns !== undefined
    ? columnsAt(build, values.columns, place)
    : children.filter((child) => child.name === 'col').map(({ values }) => completed(values.field!, values))
  const { rows, columns } = described.length > 0 ? { rows: given, columns: described } : readRows(given)
  checkLimit('columns', columns.length, place)
  const { language } = build
  const cellsOf = (row: Value) => ({ cells: columns.map((column) => cell(valueAt(row, column.field), column, build)) })
  const lines: (TotalLine | { cells: string[] })[] = values.group === undefined
    ? rows.map(cellsOf)
    : groupBy(rows, values.group).flatMap(({ name, rows }) => [
      ...rows.map(cellsOf),
      ...(rows.length > 1 ? subtotalsOf({ name: fitted(name, build), rows }, values.group!, columns, language) : [])
    ])
  const titles = columns.map(({ title }) => fitted(title, build))
  const totals = totalsOf(rows, columns, language)
  const sample = lines.length <= SAMPLE ? lines : [...lines.slice(0, SAMPLE / 2), ...lines.slice(-SAMPLE / 2)]
  const texts = { titles, totals: totals.map(({ cells }) => cells), lines: sample.map(({ cells }) => cells) }
  const needs = needsOf(columns, texts, build, { width, wraps })
  const sizes = values['font-size'] === undefined ? FONT_SIZES : [values['font-size']]
  const { fontSize, blocks } = arrange(needs, width, sizes)
  return blocks.map((block) => {
    const shares = sharesOf(block.map((at) => needs[at]!), fontSize, width)
    const named = (line: TotalLine) => namedTotals(line, block, columns)
    return {
      columns: block.map((at, place) => ({ ...columns[at]!, title: titles[at]!, share: shares[place]! })),
      rows: lines.flatMap((line): TableLine[] => 'word' in line
        ? named(line).map((cells) => ({ cells, isTotal: true }))
        : [{ cells: block.map((at) => line.cells[at]!), isTotal: false }]),
      totals: totals.flatMap(named),
      fontSize
    }
  })
}

function cell (value: Value | undefined, { format, currency }: ColumnDescription, build: Build): string {
  const text = formatValue(value, format, build.language, currency)
  checkLimit('text', text.length)
  return fitted(text.replace(/\s+/g, ' ').trim(), build)
}

/**
 * Exact totals of columns. With several currencies, each currency has its own line. The other totals are on a line
 * above these.
 */
function totalsOf (rows: readonly Value[], columns: readonly ColumnDescription[], language: Language): TotalLine[] {
  if (rows.length === 0 || columns.every(({ total }) => total === undefined)) return []
  const sums = columns.map((column) => totalOf(rows.map((row) => valueAt(row, column.field)), column, language))
  const currencies = [...new Set(sums.flatMap((sum) => typeof sum === 'string' ? [] : [...sum.keys()]))]
  const word = TOTAL[language]
  if (currencies.length < 2) {
    return [{ word, cells: sums.map((sum) => typeof sum === 'string' ? sum : sum.get(currencies[0]!) ?? '') }]
  }
  return [
    { word, cells: sums.map((sum) => typeof sum === 'string' ? sum : '') },
    ...currencies.map((currency) => ({
      word: `${word} ${currency}`, cells: sums.map((sum) => typeof sum === 'string' ? '' : sum.get(currency) ?? '')
    }))
  ].filter(({ cells }) => cells.some((text) => text !== ''))
}

/**
 * Labels a line of totals in a block of columns. The label is in the first column without a total. The group's name is
 * in its own column, or else follows the label. Returns no line if the block has no totals.
 */
function namedTotals (
  { cells, word, group }: TotalLine, block: readonly number[], columns: readonly ColumnDescription[]
): string[][] {
  const shown = block.map((at) => cells[at]!)
  if (shown.every((text) => text === '')) return []
  const first = block.findIndex((at) => columns[at]!.total === undefined)
  const own = group ? block.indexOf(group.own) : -1
  if (first !== -1) shown[first] = group && (own === -1 || own === first) ? `${word} ${group.name}` : word
  if (group && own !== -1 && own !== first) shown[own] = group.name
  return [shown]
}

/** The total of a column, or `''`. Money has a total for each currency. */
function totalOf (
  values: readonly (Value | undefined)[], { format, currency, total }: ColumnDescription, language: Language
): string | Map<string, string> {
  if (total === undefined) return ''
  if (total === 'count') {
    const filled = values.filter((value) => value !== null && value !== undefined && value !== '')
    return formatValue(filled.length, 'integer', language)
  }
  const sums = sumByCurrency(values, format === 'currency' ? currency : '')
  if (format !== 'currency') return formatValue(writeDecimal(sums.get('') ?? ZERO), format, language)
  if (sums.size === 0) sums.set(currency, ZERO)
  return new Map([...sums].map(([currency, sum]) =>
    [currency, formatValue(writeDecimal(sum), format, language, currency)]))
}

function subtotalsOf (
  { name, rows }: Group, field: string, columns: readonly ColumnDescription[], language: Language
): TotalLine[] {
  const own = columns.findIndex((column) => column.field === field && column.total === undefined)
  return totalsOf(rows, columns, language).map((line) => ({ ...line, group: { name, own } }))
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
