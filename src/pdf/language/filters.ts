import type { Liquid } from 'liquidjs'
import { TemplateError } from '../errors.ts'
import { ARITHMETIC } from './arithmetic.ts'
import { formatValue, isCurrency, isDateFormat, type Format, type Language } from './formats.ts'
import { strftime } from './strftime.ts'

/** The filters of Liquid that stay as they are: pure functions of their input. `ARITHMETIC` replaces others. */
const KEPT_FILTERS = new Set([
  'append', 'capitalize', 'compact', 'concat', 'default', 'downcase', 'first', 'join', 'last', 'lstrip', 'map',
  'number_of_words', 'prepend', 'remove', 'remove_first', 'remove_last', 'replace', 'replace_first', 'replace_last',
  'reverse', 'rstrip', 'size', 'slice', 'sort', 'sort_natural', 'split', 'squish', 'strip', 'strip_newlines',
  'truncate', 'truncatewords', 'uniq', 'upcase', 'url_encode', 'where'
])

/** The allowed Liquid tags. None of them reads files, or keeps state between documents. */
const KEPT_TAGS = new Set([
  '#', 'assign', 'break', 'capture', 'case', 'comment', 'continue', 'cycle', 'for', 'if', 'raw', 'unless'
])

/**
 * Our own filters, which format a value in the document's language: `{{ importo | currency: 'CHF' }}`. A date can have
 * a pattern: `{{ giorno | date: '%d/%m/%Y' }}`.
 */
const OWN_FILTERS: Record<string, Format> = {
  number: 'number',
  integer: 'integer',
  currency: 'currency',
  percent: 'percent',
  date: 'date',
  long_date: 'long-date',
  date_time: 'date-time'
}

/** Removes every tag and filter that is not kept, and registers the product's own filters. */
export function restrict (liquid: Liquid, language: Language): void {
  for (const name of Object.keys(liquid.tags)) if (!KEPT_TAGS.has(name)) delete liquid.tags[name]
  for (const name of Object.keys(liquid.filters)) if (!KEPT_FILTERS.has(name)) liquid.unregisterFilter(name)
  for (const [name, compute] of Object.entries(ARITHMETIC)) liquid.registerFilter(name, compute)
  for (const [name, format] of Object.entries(OWN_FILTERS)) {
    liquid.registerFilter(name, (value: unknown, argument?: unknown) => {
      if (isDateFormat(format) && argument !== undefined) return dateBy(argument, value, language)
      const currency = argument ?? 'EUR'
      if (typeof currency !== 'string' || !isCurrency(currency)) {
        throw new TemplateError('VALORE_NON_VALIDO', 'la valuta è un codice di tre lettere maiuscole')
      }
      return formatValue(value, format, language, currency)
    })
  }
}

function dateBy (pattern: unknown, value: unknown, language: Language): string {
  if (typeof value !== 'string') return ''
  const text = typeof pattern === 'string' && pattern.includes('%') ? strftime(value, pattern, language) : undefined
  if (text !== undefined) return text
  throw new TemplateError('VALORE_NON_VALIDO', `«${String(pattern).slice(0, 40)}» non è un formato di data`)
}
