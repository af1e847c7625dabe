import { isDay } from '#src/lib/time.ts'
import { readDecimal, isZero, writeDecimal, type Decimal } from '../decimal.ts'

/** Languages whose formats, hyphens and words the engine knows. */
export const LANGUAGES = ['it', 'en', 'de', 'fr'] as const
export type Language = typeof LANGUAGES[number]

const LOCALES: Record<Language, string> = { it: 'it-IT', en: 'en-GB', de: 'de-DE', fr: 'fr-FR' }

/** How a column, or a filter, writes a value. */
export const FORMATS = ['text', 'number', 'integer', 'currency', 'percent', 'date', 'long-date', 'date-time'] as const
export type Format = typeof FORMATS[number]

const CURRENCY = /^[A-Z]{3}$/
const FORMAT_WORDS: Record<Exclude<Format, 'text' | 'date' | 'long-date' | 'date-time'>, Intl.NumberFormatOptions> = {
  number: { maximumFractionDigits: 2 },
  integer: { maximumFractionDigits: 0 },
  currency: { style: 'currency' },
  percent: { style: 'percent', maximumFractionDigits: 2 }
}
const DATE_OPTIONS: Record<'date' | 'long-date' | 'date-time', Intl.DateTimeFormatOptions> = {
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
  return CURRENCY.test(code)
}

/**
 * A value as people of the language write it. A number may be a text with a dot, and is written exactly; what is not of
 * the format comes back as it is.
 */
export function formatValue (value: unknown, format: Format, language: Language, currency = 'EUR'): string {
  if (value === null || value === undefined) return ''
  switch (format) {
    case 'text':
      return typeof value === 'object' ? '' : String(value)
    case 'number':
    case 'integer':
    case 'currency':
    case 'percent': {
      const number = readDecimal(value)
      if (number === undefined) return formatValue(value, 'text', language)
      return writeNumber(number, format, language, currency)
    }
    case 'date':
    case 'long-date':
    case 'date-time':
      return typeof value === 'string' ? writeDate(value, format, language) : formatValue(value, 'text', language)
  }
}

function writeNumber (
  number: Decimal,
  format: keyof typeof FORMAT_WORDS,
  language: Language,
  currency: string
): string {
  // A dot in 4.317 even where the language would leave it out below ten thousand; never "-0,00".
  const text = numbers(format, language, currency).format(isZero(number) ? 0 : writeDecimal(number))
  return text.replace(/[\u202F]/g, '\u00A0')
}

function writeDate (value: string, format: keyof typeof DATE_OPTIONS, language: Language): string {
  if (isDay(value)) {
    const onlyDay = format === 'date-time' ? 'date' : format
    return dates(onlyDay, language, 'UTC').format(new Date(`${value}T00:00:00Z`))
  }
  if (!INSTANT.test(value) || Number.isNaN(Date.parse(value))) return value
  return dates(format, language, 'Europe/Rome').format(new Date(value))
}

/* Intl's formatters take long to make, and are kept: there are few of them. */
const kept = new Map<string, Intl.NumberFormat | Intl.DateTimeFormat>()

function numbers (format: keyof typeof FORMAT_WORDS, language: Language, currency: string): Intl.NumberFormat {
  return keep(`${format} ${language} ${currency}`, () => new Intl.NumberFormat(LOCALES[language], {
    ...FORMAT_WORDS[format],
    ...(format === 'currency' ? { currency } : {}),
    useGrouping: 'always',
    signDisplay: 'negative'
  }))
}

function dates (format: keyof typeof DATE_OPTIONS, language: Language, timeZone: string): Intl.DateTimeFormat {
  return keep(`${format} ${language} ${timeZone}`, () =>
    new Intl.DateTimeFormat(LOCALES[language], { ...DATE_OPTIONS[format], timeZone }))
}

function keep<T extends Intl.NumberFormat | Intl.DateTimeFormat> (key: string, make: () => T): T {
  const found = kept.get(key)
  if (found) return found as T
  // A currency is any three letters.
  if (kept.size > 200) kept.clear()
  const made = make()
  kept.set(key, made)
  return made
}
