/** An exact decimal number: `units / 10 ** scale`. Sums of money are made of these, and never of floating points. */
export interface Decimal { units: bigint, scale: number }

/** The contract's amounts: digits, a dot before the decimals, no separators of thousands. */
const PLAIN = /^([+-]?)(\d{1,30})(?:\.(\d{1,18}))?$/

/**
 * Reads `1234.50`, from a text or a number; undefined for what is no such number. A text with a comma or with
 * separators is not guessed: `1.234` is one and a bit, as the contract writes amounts.
 */
export function readDecimal (value: unknown): Decimal | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const match = PLAIN.exec(String(value).trim())
  if (!match) return undefined
  const [, sign, whole, decimals = ''] = match
  return { units: BigInt(`${whole}${decimals}`) * (sign === '-' ? -1n : 1n), scale: decimals.length }
}

export const ZERO: Decimal = { units: 0n, scale: 0 }

/** The exact sum. */
export function addDecimals (a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale)
  return { units: atScale(a, scale) + atScale(b, scale), scale }
}

/** As the contract writes it: `-1234.50`. Intl formats such a text without rounding it to a floating point first. */
export function writeDecimal ({ units, scale }: Decimal): `${number}` {
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0')
  const text = scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`
  return `${units < 0n ? '-' : ''}${text}` as `${number}`
}

export function isZero ({ units }: Decimal): boolean {
  return units === 0n
}

/** Only for what is drawn, as the height of a bar. */
export function approximate (decimal: Decimal): number {
  return Number(writeDecimal(decimal))
}

function atScale ({ units, scale }: Decimal, wanted: number): bigint {
  return units * 10n ** BigInt(wanted - scale)
}
