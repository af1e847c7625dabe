/** An exact decimal number: `units / 10 ** scale`. Sums of money use `Decimal` instead of floating point. */
export interface Decimal { units: bigint, scale: number }

/** An amount in the API's format: an optional sign, digits, a dot before the decimals, no thousands separators. */
const PLAIN = /^([+-]?)(\d{1,30})(?:\.(\d{1,18}))?$/

/**
 * Parses `1234.50` from a string or number. Undefined for anything else. Commas and thousands separators are not
 * accepted: `1.234` is less than two.
 */
export function readDecimal (value: unknown): Decimal | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const match = PLAIN.exec(String(value).trim())
  if (!match) return undefined
  const [, sign, whole, decimals = ''] = match
  return { units: BigInt(`${whole}${decimals}`) * (sign === '-' ? -1n : 1n), scale: decimals.length }
}

/** Parses an amount that may name its currency: `1234.50 USD`. Undefined for anything else. */
export function readMoney (value: unknown, defaultCurrency: string): { amount: Decimal, currency: string } | undefined {
  const [text, currency = defaultCurrency] = typeof value === 'string' ? value.trim().split(/ (?=[A-Z]{3}$)/) : [value]
  const amount = readDecimal(text)
  return amount && { amount, currency: String(currency) }
}

/** Writes an amount for `readMoney`. */
export function writeMoney (amount: Decimal, currency: string): string {
  return `${writeDecimal(amount)} ${currency}`
}

/** Adds the amounts of each currency separately. Values that are not amounts are left out. */
export function sumByCurrency (values: readonly unknown[], defaultCurrency: string): Map<string, Decimal> {
  const sums = new Map<string, Decimal>()
  for (const value of values) {
    const money = readMoney(value, defaultCurrency)
    if (money) sums.set(money.currency, addDecimals(sums.get(money.currency) ?? ZERO, money.amount))
  }
  return sums
}

export const ZERO: Decimal = { units: 0n, scale: 0 }

export function addDecimals (a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale)
  return { units: atScale(a, scale) + atScale(b, scale), scale }
}

/** Writes the format of the API: `-1234.50`. Intl formats such a string without rounding it to floating point. */
export function writeDecimal ({ units, scale }: Decimal): `${number}` {
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0')
  const text = scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`
  return `${units < 0n ? '-' : ''}${text}` as `${number}`
}

export function isZero ({ units }: Decimal): boolean {
  return units === 0n
}

/** A floating-point value, for drawing only (the height of a bar). */
export function approximate (decimal: Decimal): number {
  return Number(writeDecimal(decimal))
}

function atScale ({ units, scale }: Decimal, wanted: number): bigint {
  return units * 10n ** BigInt(wanted - scale)
}
