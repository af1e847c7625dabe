import { isDay } from '#src/lib/time.ts'
import { ownValue, type Data, type Value } from '../data.ts'
import { readWritten, type Separator } from './amounts.ts'
import { isIdentifier, isMoney, wordsOf } from './column-names.ts'
import { currencyOf } from './currencies.ts'
import { isBlank } from './total-rows.ts'

/** Properties of a column's values, which decide its format. Numbers are counts of values unless noted. */
export interface Survey {
  field: string
  /** The column name in lower-case words. */
  words: string
  filled: number
  amounts: number
  days: number
  /** Values with a percent sign. */
  shares: number
  currencies: number
  /** Whether an amount has a currency. */
  hasUnit: boolean
  /** The values or the column name show that the digits identify something: `007`, a telephone number. */
  isCode: boolean
  /** The index of the first row whose value is neither blank nor an amount. */
  firstText: number | undefined
  /** The decimal separators that values prove, each with the index of the first such row. */
  proofs: Map<Separator, number>
  /** The separators of values like `1.234`, which may be decimal or not, each with the index of the first such row. */
  unclear: Map<Separator, number>
}

const LEADING_ZERO = /^[+-]?0\d+$/
/** An integer with more digits than a count or an amount: a reservation, a telephone number. */
const LONG_CODE = /^\+?\d{9,}$/

/** Examines the values of a column. */
export function survey (field: string, rows: readonly Data[]): Survey {
  const words = wordsOf(field)
  const found: Survey = {
    field,
    words,
    filled: 0,
    amounts: 0,
    days: 0,
    shares: 0,
    currencies: 0,
    hasUnit: false,
    isCode: isIdentifier(words),
    firstText: undefined,
    proofs: new Map(),
    unclear: new Map()
  }
  let longCodes = 0
  rows.forEach((row, at) => {
    const value = ownValue(row, field)
    if (isBlank(value)) return
    found.filled++
    const text = textOf(value)
    if (LEADING_ZERO.test(text)) found.isCode = true
    if (LONG_CODE.test(text)) longCodes++
    if (isDay(text)) found.days++
    if (/^[^%]*\d ?%$/.test(text)) found.shares++
    if (currencyOf(text) !== undefined) found.currencies++
    const amount = readWritten(text)
    if (amount === undefined) {
      found.firstText ??= at
      return
    }
    found.amounts++
    if (amount.unit !== undefined) found.hasUnit = true
    // A JSON number proves nothing about the texts.
    if (typeof value === 'number') return
    if (amount.proves === 'unclear') note(found.unclear, amount.body.includes('.') ? '.' : ',', at)
    else if (amount.proves !== null) note(found.proofs, amount.proves, at)
  })
  if (longCodes > 0 && longCodes === found.amounts && !isMoney(words)) found.isCode = true
  return found
}

function note (rows: Map<Separator, number>, separator: Separator, at: number): void {
  if (!rows.has(separator)) rows.set(separator, at)
}

/** The text of a cell without blanks around it. A JSON number keeps its decimal dot. `''` for other values. */
export function textOf (value: Value | undefined): string {
  return typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : ''
}
