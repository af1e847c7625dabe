/** Symbols that mean only one currency, each followed by its code. */
const SYMBOLS = new Map(Array.from((
  '€ EUR £ GBP ₩ KRW ₹ INR ₺ TRY ₽ RUB ฿ THB ₫ VND 円 JPY 元 CNY zł PLN Kč CZK Ft HUF Fr. CHF SFr. CHF R$ BRL US$ USD ' +
  'C$ CAD CA$ CAD A$ AUD AU$ AUD NZ$ NZD HK$ HKD S$ SGD JP¥ JPY CN¥ CNY'
).matchAll(/(\S+) (\S+)/g), ([, symbol, code]) => [symbol!, code!]))
/** Symbols that several currencies share: the code of the most usual currency, and a pattern of the other codes. */
const SHARED = new Map<string, readonly [usual: string, others: RegExp]>([
  ['$', ['USD', /^(..D|MXN|ARS|CLP|COP|UYU)$/]],
  ['¥', ['JPY', /^CNY$/]],
  ['￥', ['JPY', /^CNY$/]],
  ['kr', ['SEK', /^(NOK|DKK|ISK)$/]]
])
const CODES = new Set(Intl.supportedValuesOf('currency'))

/** Matches a symbol or the form of a code. */
export const UNIT = [...SYMBOLS.keys(), ...SHARED.keys()].sort((a, b) => b.length - a.length)
  .map((symbol) => symbol.replace(/[$.]/g, '\\$&')).concat('[A-Za-z]{3}').join('|')

/** The currency code for a symbol, or for a code in upper or lower case. Undefined for any other text. */
export function currencyOf (unit: string): string | undefined {
  const code = unit.toUpperCase()
  return CODES.has(code) ? code : SYMBOLS.get(unit) ?? SHARED.get(unit)?.[0]
}

/** The currency of an amount. A shared symbol means the currency of the row, if that currency uses the symbol. */
export function currencyOfUnit (unit: string | undefined, ofRow: string | undefined): string | undefined {
  if (unit === undefined) return ofRow
  return ofRow !== undefined && SHARED.get(unit)?.[1].test(ofRow) ? ofRow : currencyOf(unit)
}

/** The currency in a column's title, as a symbol or in capitals: `Betrag (EUR)`, `Importo €`. */
export function currencyInTitle (title: string): string | undefined {
  return title.split(/[\s()[\]/_]+/).filter((word) => !/\p{Ll}/u.test(word)).map(currencyOf)
    .find((code) => code !== undefined)
}

/** True when the currency has no decimals, like the yen. Every separator in its amounts is a thousands separator. */
export function isFractionless (currency: string | undefined): boolean {
  if (currency === undefined || !CODES.has(currency)) return false
  const format = new Intl.NumberFormat('it', { style: 'currency', currency })
  return format.resolvedOptions().maximumFractionDigits === 0
}
