import { currencyOf, UNIT } from './currencies.ts'

/** The separator before the decimals. The other one separates thousands. */
export type Separator = '.' | ','

/** An amount as a file writes it: `-$1,234.50`, `(10,50)`, `1.234 EUR`. */
interface WrittenAmount {
  isNegative: boolean
  /** Digits with their separators, without blanks and apostrophes. */
  body: string
  /** The symbol or code of the currency. */
  unit: string | undefined
  /** The decimal separator that this amount proves. Null when it proves none, `unclear` for `1.234` and `1,234`. */
  proves: Separator | 'unclear' | null
}

const AMOUNT = new RegExp(`^([-+]?) ?(${UNIT})? ?([-+]?) ?(\\d(?:[\\d.,'’ ]*\\d)?) ?(${UNIT})? ?(-?)$`)
const BLANKS = /[\s\u00A0\u2007\u2009\u202F]+/g
const MINUS = /[\u2010-\u2013\u2212\uFE63\uFF0D]/g
/** Thousands separated by blanks or apostrophes. */
const SPACED = /^\d{1,3}(?:([ '’])\d{3})(?:\1\d{3})*(?:[.,]\d+)?$/
const LENGTH_MAX = 60

/** Parses an amount. Undefined for any other text. */
export function readWritten (text: string): WrittenAmount | undefined {
  if (text.length > LENGTH_MAX) return undefined
  const plain = text.replace(BLANKS, ' ').replace(MINUS, '-').trim()
  const bracketed = /^\((.+)\)$/.exec(plain)?.[1]
  const [, first, before, second, digits = '', after, last] = AMOUNT.exec(bracketed ?? plain) ?? []
  const units = [before, after].filter((unit) => unit !== undefined)
  const signs = [first, second, last, bracketed && '-'].filter(Boolean)
  const isSpaced = SPACED.test(digits)
  const isOne = units.length <= 1 && signs.length <= 1 && (isSpaced || !/[ '’]/.test(digits))
  if (!isOne || units.some((unit) => currencyOf(unit) === undefined)) return undefined
  const body = digits.replace(/[ '’]/g, '')
  const proves = proofOf(body, isSpaced)
  return proves && { isNegative: signs[0] === '-', body, unit: units[0], proves: proves.separator }
}

/** The decimal separator that the digits prove. Undefined when they are not a number. */
function proofOf (body: string, isSpaced: boolean): { separator: WrittenAmount['proves'] } | undefined {
  if (body === '') return undefined
  const separators = body.replace(/\d/g, '')
  const last = separators.at(-1) as Separator | undefined
  if (last === undefined) return { separator: null }
  if (separators.length === 1) return { separator: !isSpaced && /^[1-9]\d{0,2}\D\d{3}$/.test(body) ? 'unclear' : last }
  const separator = new Set(separators).size === 1 ? otherOf(last) : last
  return plainAmount({ body, isNegative: false }, separator) === undefined ? undefined : { separator }
}

/** `1234.50`, or undefined when the amount is not written with this decimal separator. */
export function plainAmount (
  { body, isNegative }: Pick<WrittenAmount, 'body' | 'isNegative'>, separator: Separator
): string | undefined {
  const [whole = '', decimals, ...more] = body.split(separator)
  const groups = whole.split(otherOf(separator))
  const isWhole = groups.length === 1 ||
    groups.every((group, at) => at === 0 ? /^\d{1,3}$/.test(group) : group.length === 3)
  const digits = groups.join('')
  if (more.length > 0 || !isWhole || !/^\d{1,30}$/.test(digits) || !/^\d{0,18}$/.test(decimals ?? '')) return undefined
  return `${isNegative ? '-' : ''}${digits}${decimals === undefined ? '' : `.${decimals}`}`
}

export function otherOf (separator: Separator): Separator {
  return separator === '.' ? ',' : '.'
}
