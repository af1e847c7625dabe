import { isDay } from '#src/lib/time.ts'
import { isZero, readMoney, writeDecimal } from '../decimal.ts'

/** Languages with formats, hyphenation and fixed words. */
export const LANGUAGES = ['it', 'en', 'de', 'fr'] as const
export type Language = typeof LANGUAGES[number]

export const LOCALES: Record<Language, string> = { it: 'it-IT', en: 'en-GB', de: 'de-DE', fr: 'fr-FR' }

/** The formats of columns and filters. */
export const FORMATS = ['text', 'number', 'integer', 'currency', 'percent', 'date', 'long-date', 'date-time'] as const
export type Format = typeof FORMATS[number]

const NUMBERS: Partial<Record<Format, Intl.NumberFormatOptions>> = {
  number: { maximumFractionDigits: 2 },
  integer: { maximumFractionDigits: 0 },
  currency: { style: 'currency' },
  percent: { style: 'percent', maximumFractionDigits: 2 }
}
const DATES: Partial<Record<Format, Intl.DateTimeFormatOptions>> = {
  date: { day: '2-digit', month: '2-digit', year: 'numeric' },
  'long-date': { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' },
  'date-time': { day: '2-digit', month: '2-digit', year: 'numeric', hour: '2-digit', minute: '2-digit' }
}
/** An instant in ISO 8601 with a time zone. */
export const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/

/** The language of a code such as `de` or `DE-AT`. English when its first two letters are not supported. */
export function languageOf (code: string): Language {
  const found = code.slice(0, 2).toLowerCase() as Language
  return LANGUAGES.includes(found) ? found : 'en'
}

/** True for a text with the form of an ISO 4217 code: three capital letters. */
export function isCurrency (code: string): boolean {
  return /^[A-Z]{3}$/.test(code)
}

/** True when the format writes dates. */
export function isDateFormat (format: Format): boolean {
  return DATES[format] !== undefined
}

/** True when the format writes numbers. */
export function isNumberFormat (format: Format): boolean {
  return NUMBERS[format] !== undefined
}

/**
 * Formats a value in the language. A number may be a string with a decimal dot, which is formatted without floating
 * point. With the format `currency`, an amount that names a currency keeps that currency. A value that does not fit the
 * format is returned unchanged. A missing value or an object gives `''`.
 */
export function formatValue (value: unknown, format: Format, language: Language, currency = 'EUR'): string {
  if (value === null || value === undefined || typeof value === 'object') return ''
  if (isNumberFormat(format)) return writeNumber(value, format, language, currency)
  return DATES[format] && typeof value === 'string' ? writeDate(value, format, language) : String(value)
}

function writeNumber (value: unknown, format: Format, language: Language, usual: string): string {
  const money = readMoney(value, usual)
  if (money === undefined || (format !== 'currency' && money.currency !== usual)) return String(value)
  const { amount, currency } = money
  const formatter = cached(`${format} ${language} ${currency}`, () => new Intl.NumberFormat(LOCALES[language], {
    ...NUMBERS[format],
    ...(format === 'currency' ? { currency } : {}),
    // Group digits also below 10,000 (4.317), which some languages do not do by default. Never write "-0,00".
    useGrouping: 'always',
    signDisplay: 'negative'
  }))
  return formatter.format(isZero(amount) ? 0 : writeDecimal(amount)).replace(/[\u202F]/g, '\u00A0')
}

function writeDate (value: string, format: Format, language: Language): string {
  const formatter = (kind: Format, timeZone: string) => cached(`${kind} ${language} ${timeZone}`, () =>
    new Intl.DateTimeFormat(LOCALES[language], { ...DATES[kind], timeZone }))
  if (isDay(value)) return formatter(format === 'date-time' ? 'date' : format, 'UTC').format(new Date(value))
  const isInstant = INSTANT.test(value) && !Number.isNaN(Date.parse(value))
  return isInstant ? formatter(format, 'Europe/Rome').format(new Date(value)) : value
}

/** Cached formatters, because Intl formatters are slow to create. */
const formatters = new Map<string, Intl.NumberFormat | Intl.DateTimeFormat>()

function cached<T extends Intl.NumberFormat | Intl.DateTimeFormat> (key: string, make: () => T): T {
  // Limit the cache, because templates choose the currency code.
  if (formatters.size > 200) formatters.clear()
  const found = formatters.get(key) ?? make()
  formatters.set(key, found)
  return found as T
}
