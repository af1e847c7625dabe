import type { Liquid } from 'liquidjs'
import { TemplateError } from '../errors.ts'
import { formatValue, isCurrency, type Format, type Language } from './formats.ts'

/** The allowed Liquid filters: pure functions of their input. */
const KEPT_FILTERS = new Set([
  'abs', 'append', 'at_least', 'at_most', 'capitalize', 'ceil', 'compact', 'concat', 'default', 'divided_by',
  'downcase', 'first', 'floor', 'join', 'last', 'lstrip', 'map', 'minus', 'modulo', 'number_of_words', 'plus',
  'prepend', 'remove', 'remove_first', 'remove_last', 'replace', 'replace_first', 'replace_last', 'reverse',
  'round', 'rstrip', 'size', 'slice', 'sort', 'sort_natural', 'split', 'squish', 'strip', 'strip_newlines', 'sum',
  'times', 'truncate', 'truncatewords', 'uniq', 'upcase', 'url_encode', 'where'
])

/** The allowed Liquid tags: none reads files or keeps state between documents. */
const KEPT_TAGS = new Set([
  '#', 'assign', 'break', 'capture', 'case', 'comment', 'continue', 'cycle', 'for', 'if', 'raw', 'unless'
])

/** Our own filters, which format a value in the document's language: `{{ importo | currency: 'CHF' }}`. */
const OWN_FILTERS: Record<string, Format> = {
  number: 'number',
  integer: 'integer',
  currency: 'currency',
  percent: 'percent',
  date: 'date',
  long_date: 'long-date',
  date_time: 'date-time'
}

/** Removes every tag and filter that is not allowed, and registers our own. */
export function restrict (liquid: Liquid, language: Language): void {
  for (const name of Object.keys(liquid.tags)) if (!KEPT_TAGS.has(name)) delete liquid.tags[name]
  for (const name of Object.keys(liquid.filters)) if (!KEPT_FILTERS.has(name)) liquid.unregisterFilter(name)
  for (const [name, format] of Object.entries(OWN_FILTERS)) {
    liquid.registerFilter(name, (value: unknown, currency: unknown = 'EUR') => {
      if (typeof currency !== 'string' || !isCurrency(currency)) {
        throw new TemplateError('VALORE_NON_VALIDO', 'la valuta è un codice di tre lettere maiuscole')
      }
      return formatValue(value, format, language, currency)
    })
  }
}
