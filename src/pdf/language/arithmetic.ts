import { valueAt, type Value } from '../data.ts'
import { addDecimals, readDecimal, writeDecimal, ZERO, type Decimal } from '../decimal.ts'
import { TemplateError } from '../errors.ts'

/* Liquid's filters for numbers, exact except for quotients: `{{ prezzo | times: notti }}` of 61.70 and 3 is 185.1. */

/** Maximum decimals of a quotient. */
const QUOTIENT_SCALE = 12
/** Decimals with at most this many digits are exact as JavaScript numbers. */
const EXACT_DIGITS = 15

const minus = ({ units, scale }: Decimal): Decimal => ({ units: -units, scale })
const isLess = (a: Decimal, b: Decimal): boolean => addDecimals(a, minus(b)).units < 0n

function multiply (a: Decimal, b: Decimal): Decimal {
  return { units: a.units * b.units, scale: a.scale + b.scale }
}

/** Rounds half away from zero, or always in the given direction. */
function rounded ({ units, scale }: Decimal, wanted: number, direction?: 'up' | 'down'): Decimal {
  if (scale <= wanted) return { units, scale }
  const step = 10n ** BigInt(scale - wanted)
  const rest = units % step
  const whole = units / step
  const moves = direction === undefined
    ? (rest < 0n ? -rest : rest) * 2n >= step
    : direction === 'up' ? rest > 0n : rest < 0n
  return { units: moves ? whole + (rest < 0n ? -1n : 1n) : whole, scale: wanted }
}

function divide (a: Decimal, b: Decimal): Decimal {
  if (b.units === 0n) throw new TemplateError('VALORE_NON_VALIDO', 'divisione per zero')
  // One more digit than needed, which decides the rounding.
  const scale = QUOTIENT_SCALE + 1
  const units = a.units * 10n ** BigInt(scale + b.scale) / (b.units * 10n ** BigInt(a.scale))
  return rounded({ units, scale }, QUOTIENT_SCALE)
}

/** The remainder, with the sign of the dividend. */
function modulo (a: Decimal, b: Decimal): Decimal {
  if (b.units === 0n) throw new TemplateError('VALORE_NON_VALIDO', 'divisione per zero')
  const scale = Math.max(a.scale, b.scale)
  const [first, second] = [a, b].map((each) => addDecimals(each, { units: 0n, scale }).units) as [bigint, bigint]
  return { units: first % second, scale }
}

/** @throws TemplateError for a text that is not a number. A missing value is zero. */
function numberOf (value: unknown): Decimal {
  if (value === null || value === undefined || value === '') return ZERO
  const number = readDecimal(typeof value === 'number' && /e/.test(String(value)) ? value.toFixed(18) : value)
  if (number === undefined) {
    throw new TemplateError('VALORE_NON_VALIDO', `«${String(value).slice(0, 40)}» non è un numero`)
  }
  return number
}

/** A JavaScript number if that is exact, because templates can compare numbers. Otherwise a text. */
function valueOf (number: Decimal): number | string {
  const text = writeDecimal(number).replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '')
  return text.replace(/\D/g, '').length <= EXACT_DIGITS ? Number(text) : text
}

const BINARY: Record<string, (a: Decimal, b: Decimal) => Decimal> = {
  plus: addDecimals,
  minus: (a, b) => addDecimals(a, minus(b)),
  times: multiply,
  divided_by: divide,
  modulo,
  at_least: (a, b) => isLess(a, b) ? b : a,
  at_most: (a, b) => isLess(a, b) ? a : b
}

export const ARITHMETIC: Record<string, (value: unknown, argument?: unknown) => number | string> = {
  ...Object.fromEntries(Object.entries(BINARY).map(([name, compute]) =>
    [name, (value: unknown, argument: unknown) => valueOf(compute(numberOf(value), numberOf(argument)))])),
  abs: (value) => {
    const number = numberOf(value)
    return valueOf(number.units < 0n ? minus(number) : number)
  },
  ceil: (value) => valueOf(rounded(numberOf(value), 0, 'up')),
  floor: (value) => valueOf(rounded(numberOf(value), 0, 'down')),
  round: (value, digits) => valueOf(rounded(numberOf(value), Math.min(18, Math.max(0, Number(digits ?? 0) || 0)))),
  sum: (list, field) => valueOf((Array.isArray(list) ? list as Value[] : []).map((item) =>
    numberOf(typeof field === 'string' ? valueAt(item, field) : item)).reduce(addDecimals, ZERO))
}
