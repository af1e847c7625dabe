import { isDay } from '#src/lib/time.ts'
import { readDecimal, isZero, writeDecimal } from '../decimal.ts'

/** Languages whose formats, hyphens and words the engine knows. */
export const LANGUAGES = ['it', 'en', 'de', 'fr'] as const
export type Language = typeof LANGUAGES[number]

const LOCALES: Record<Language, string> = { it: 'it-IT', en: 'en-GB', de: 'de-DE', fr: 'fr-FR' }

/** How a column, or a filter, writes a value. */
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
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/

/** The language of a two-letter code, in either case; one that the engine does not know is English. */
export function languageOf (code: string): Language {
  const found = code.slice(0, 2).toLowerCase() as Language
  return LANGUAGES.includes(found) ? found : 'en'
}

/** True for a currency's code in three letters. */
export function isCurrency (code: string): boolean {
  return /^[A-Z]{3}$/.test(code)
}

/** True for what is written as a number. */
export function isNumberFormat (format: Format): boolean {
  return NUMBERS[format] !== undefined
}

/**
 * A value as people of the language write it. A number may be a text with a dot, and is written exactly; what is not of
 * the format comes back as it is.
 */
export function formatValue (value: unknown, format: Format, language: Language, currency = 'EUR'): string {
  if (value === null || value === undefined || typeof value === 'object') return ''
  if (isNumberFormat(format)) return writeNumber(value, format, language, currency)
  return DATES[format] && typeof value === 'string' ? writeDate(value, format, language) : String(value)
}

function writeNumber (value: unknown, format: Format, language: Language, currency: string): string {
  const number = readDecimal(value)
  if (number === undefined) return String(value)
  const formatter = keep(`${format} ${language} ${currency}`, () => new Intl.NumberFormat(LOCALES[language], {
    ...NUMBERS[format],
    ...(format === 'currency' ? { currency } : {}),
    // A dot in 4.317 even where the language would leave it out below ten thousand; never "-0,00".
    useGrouping: 'always',
    signDisplay: 'negative'
  }))
  return formatter.format(isZero(number) ? 0 : writeDecimal(number)).replace(/[\u202F]/g, '\u00A0')
}

function writeDate (value: string, format: Format, language: Language): string {
  const formatter = (kind: Format, timeZone: string) => keep(`${kind} ${language} ${timeZone}`, () =>
    new Intl.DateTimeFormat(LOCALES[language], { ...DATES[kind], timeZone }))
  if (isDay(value)) return formatter(format === 'date-time' ? 'date' : format, 'UTC').format(new Date(value))
  const isInstant = INSTANT.test(value) && !Number.isNaN(Date.parse(value))
  return isInstant ? formatter(format, 'Europe/Rome').format(new Date(value)) : value
}

/** Intl's formatters take long to make: there are few of them. */
const kept = new Map<string, Intl.NumberFormat | Intl.DateTimeFormat>()

function keep<T extends Intl.NumberFormat | Intl.DateTimeFormat> (key: string, make: () => T): T {
  // A currency is any three letters.
  if (kept.size > 200) kept.clear()
  const found = kept.get(key) ?? make()
  kept.set(key, found)
  return found as T
}
