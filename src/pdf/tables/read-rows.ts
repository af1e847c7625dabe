import { isRow, ownValue, type Data, type Value } from '../data.ts'
import { TemplateError } from '../errors.ts'
import { isNumberFormat, type Format } from '../language/formats.ts'
import type { Warning } from '../layout/build.ts'
import { checkLimit } from '../pdf-limits.ts'
import { otherOf, plainAmount, readWritten, type Separator } from './amounts.ts'
import { isCurrencyName, isMoney, isNotAdded, isRatio } from './column-names.ts'
import { currencyInTitle, currencyOf, currencyOfUnit, isFractionless } from './currencies.ts'
import { titleOf, type ColumnDescription } from './column-description.ts'
import { survey, textOf, type Survey } from './survey.ts'
import { isBlank, isTotalRow } from './total-rows.ts'

export interface ReadOptions {
  /** The decimal separator of all columns. */
  decimali?: 'punto' | 'virgola' | undefined
  /** The currency of amounts that name none. */
  valuta?: string | undefined
  /** The line of each row in its CSV file. Undefined for rows of JSON, where a dot in an unclear number is decimal. */
  lines?: readonly number[] | undefined
}

/** Rows with plain numbers (`1234.50`, `1234.50 USD`), without blank rows and totals, and their columns. */
interface ReadRows { rows: Data[], columns: ColumnDescription[], warnings: Warning[] }

interface Reading extends ReadOptions {
  rows: Data[]
  surveys: Survey[]
  /** The number of a row for messages. */
  lineOf (row: number): number
  warnings: Warning[]
}

type Write = (value: Value, row: Data) => Value

/** Maximum characters of a cell in a message. */
const QUOTED = 40

/**
 * Reads rows of any shape. The values of a whole column decide whether it has numbers, and how they are written.
 * @throws TemplateError for too many fields, or when a number of a file may mean two amounts
 */
export function readRows (given: readonly Value[], options: ReadOptions = {}): ReadRows {
  const warnings: Warning[] = []
  const fields = fieldsOf(given)
  const numberOf = (at: number) => options.lines?.[at] ?? at + 1
  const kept = [...given.keys()].filter((at) => {
    const row = given[at]
    if (!isRow(row) || Object.values(row).every(isBlank)) return false
    const isTotal = isTotalRow(row, fields.length)
    const messaggio = `riga ${numberOf(at)}: totale del file, non si somma`
    if (isTotal) warnings.push({ codice: 'RIGA_DI_TOTALE', messaggio })
    return !isTotal
  })
  const rows = kept.map((at) => given[at] as Data)
  const surveys = fields.map((field) => survey(field, rows))
  const reading: Reading = { ...options, rows, surveys, lineOf: (row) => numberOf(kept[row]!), warnings }
  const read = surveys.map((each) => readColumn(each, reading))
  const writes = new Map(read.flatMap(({ column, write }) => write ? [[column.field, write] as const] : []))
  return {
    rows: writes.size === 0 ? rows : rows.map((row) => written(row, writes)),
    columns: read.map(({ column }) => column),
    warnings
  }
}

function written (row: Data, writes: ReadonlyMap<string, Write>): Data {
  return Object.fromEntries(Object.entries(row).map(([field, value]) =>
    [field, writes.get(field)?.(value, row) ?? value]))
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

interface ReadColumn { column: ColumnDescription, write?: Write }

function readColumn (of: Survey, reading: Reading): ReadColumn {
  const { field, words, filled, amounts, isCode } = of
  if (filled === 0 || isCode) return described(field, 'text')
  if (of.days === filled) return described(field, 'date')
  // Shares and rates keep their decimals.
  const isShare = of.shares > 0 || (isRatio(words) && !of.hasUnit)
  const { column } = described(field, 'text')
  if (isShare && of.shares + amounts === filled) return { column: { ...column, align: 'right' } }
  const separator = amounts === 0 ? undefined : separatorOf(of, reading)
  if (separator === undefined) return described(field, 'text')
  const culprit = amounts < filled ? of.firstText : firstOtherNumber(of, separator, reading)
  if (culprit !== undefined) {
    if (amounts * 2 > filled && !isNotAdded(words)) warnOf(of, culprit, reading)
    return described(field, 'text')
  }
  return numbers(of, separator, reading)
}

function described (field: string, format: Format, currency = 'EUR', total?: 'sum'): ReadColumn {
  const align = isNumberFormat(format) ? 'right' : 'left'
  return { column: { field, title: titleOf(field), format, currency, align, width: 0, total } }
}

/**
 * The decimal separator of a column. The caller decides first, then the column's values, its currency, and the other
 * columns. Undefined when the column contradicts itself.
 * @throws TemplateError when the separator in a file stays unknown
 */
function separatorOf (of: Survey, reading: Reading): Separator | undefined {
  const { proofs, unclear } = of
  if (reading.decimali !== undefined) return reading.decimali === 'virgola' ? ',' : '.'
  const [own, ...others] = proofs.keys()
  if (own !== undefined) {
    if (others.length > 0) warnOf(of, proofs.get(others[0]!)!, reading)
    return others.length > 0 ? undefined : own
  }
  const [mark, ...marks] = unclear.keys()
  if (mark === undefined) return '.'
  if (marks.length === 0 && isFractionless(firstCurrency(of, reading))) return otherOf(mark)
  const proven = new Set(reading.surveys.filter(({ isCode }) => !isCode).flatMap((each) => [...each.proofs.keys()]))
  if (proven.size === 1) return [...proven][0]
  if (reading.lines === undefined || of.amounts < of.filled) return '.'
  const row = unclear.get(mark)!
  const message = `di «${quoted(of, row, reading)}» non si sa che cosa separi i decimali: indicare ` +
    'decimali=virgola o decimali=punto'
  const place = { riga: reading.lineOf(row), colonna: reading.surveys.indexOf(of) + 1 }
  throw new TemplateError('CSV_NON_VALIDO', message, place)
}

/** The first row whose value is not a number with this decimal separator. */
function firstOtherNumber ({ field }: Survey, separator: Separator, { rows }: Reading): number | undefined {
  const at = rows.findIndex((row) => {
    const value = ownValue(row, field)
    return !isBlank(value) && plainOf(value, separator) === undefined
  })
  return at === -1 ? undefined : at
}

/** JSON numbers have decimal dots. */
function plainOf (value: Value | undefined, separator: Separator): string | undefined {
  const amount = readWritten(textOf(value))
  return amount && plainAmount(amount, typeof value === 'number' ? '.' : separator)
}

function warnOf (of: Survey, row: number, reading: Reading): void {
  const messaggio = `la colonna «${of.field.slice(0, QUOTED)}» non si somma: riga ${reading.lineOf(row)}, ` +
    `«${quoted(of, row, reading)}»`
  reading.warnings.push({ codice: 'COLONNA_NON_SOMMATA', messaggio })
}

function quoted ({ field }: Survey, row: number, { rows }: Reading): string {
  return textOf(ownValue(rows[row]!, field)).slice(0, QUOTED)
}

/** A column of numbers, which are rewritten with a decimal dot. An amount in another currency names its currency. */
function numbers (of: Survey, separator: Separator, reading: Reading): ReadColumn {
  const { field, words } = of
  const hasMoney = isMoney(words) || of.hasUnit || currencyInTitle(field) !== undefined
  const total = isNotAdded(words) ? undefined : 'sum' as const
  const currencyOfCell = currencyReader(of, reading)
  const currency = hasMoney ? firstCurrency(of, reading) ?? 'EUR' : undefined
  const write: Write = (value, row) => {
    const plain = isBlank(value) ? undefined : plainOf(value, separator)
    if (plain === undefined || currency === undefined) return plain ?? value
    const own = currencyOfCell(row) ?? 'EUR'
    return own === currency ? plain : `${plain} ${own}`
  }
  return { ...described(field, hasMoney ? 'currency' : 'number', currency, total), write }
}

/** The currency of a column's first amount. */
function firstCurrency (of: Survey, reading: Reading): string | undefined {
  const first = reading.rows.find((row) => !isBlank(ownValue(row, of.field)))
  return first && currencyReader(of, reading)(first)
}

/** Reads the currency of an amount: from its cell, its row, the column's title, or the default. */
function currencyReader (of: Survey, reading: Reading): (row: Data) => string | undefined {
  const { field } = of
  const source = currencyFieldFor(of, reading)
  const ofTitle = currencyInTitle(field)
  return (row) => {
    const named = source === undefined ? undefined : currencyOf(textOf(ownValue(row, source)))
    return currencyOfUnit(readWritten(textOf(ownValue(row, field)))?.unit, named ?? ofTitle ?? reading.valuta)
  }
}

/** The column with the currency of an amount: `Payout currency` for `Payout amount`, else the nearest one. */
function currencyFieldFor (of: Survey, { surveys }: Reading): string | undefined {
  const place = surveys.indexOf(of)
  const [first = ''] = of.words.split(' ')
  const distance = ({ words }: Survey, at: number) =>
    words.startsWith(`${first} `) ? 0 : Math.abs(at - place) + (at < place ? 0.5 : 0)
  return surveys.map((each, at) => ({ ...each, distance: distance(each, at) }))
    .filter(({ currencies, filled, words }) => filled > 0 && currencies === filled && isCurrencyName(words))
    .toSorted((a, b) => a.distance - b.distance)[0]?.field
}
