import { isDay } from '#src/lib/time.ts'
import { INSTANT, LOCALES, type Language } from './formats.ts'

type Names = Record<'B' | 'b' | 'A' | 'a', string>
type Moment = Record<'year' | 'month' | 'day' | 'hour' | 'minute' | 'second', string>

const two = (number: number): string => String(number).padStart(2, '0')
const bare = (digits: string): string => String(Number(digits))

/** The supported directives of Liquid, without names: `%d`, and `%-d` without the leading zero. */
const DIRECTIVES: Record<string, (moment: Moment) => string> = {
  Y: ({ year }) => year,
  y: ({ year }) => year.slice(-2),
  m: ({ month }) => month,
  d: ({ day }) => day,
  e: ({ day }) => bare(day).padStart(2, ' '),
  H: ({ hour }) => hour,
  I: ({ hour }) => two((Number(hour) + 11) % 12 + 1),
  M: ({ minute }) => minute,
  S: ({ second }) => second,
  p: ({ hour }) => Number(hour) < 12 ? 'AM' : 'PM',
  F: ({ year, month, day }) => `${year}-${month}-${day}`,
  T: ({ hour, minute, second }) => `${hour}:${minute}:${second}`,
  R: ({ hour, minute }) => `${hour}:${minute}`,
  D: ({ year, month, day }) => `${month}/${day}/${year.slice(-2)}`
}
const NAMES: Record<keyof Names, Intl.DateTimeFormatOptions> = {
  B: { month: 'long' }, b: { month: 'short' }, A: { weekday: 'long' }, a: { weekday: 'short' }
}

/**
 * Writes a day, or an instant in Italian time, by a pattern such as `%d/%m/%Y`, with names in the language. Undefined
 * for a directive that is not supported. A value that is not a date is returned unchanged.
 */
export function strftime (value: string, pattern: string, language: Language): string | undefined {
  const day = isDay(value)
  if (!day && (!INSTANT.test(value) || Number.isNaN(Date.parse(value)))) return value
  const timeZone = day ? 'UTC' : 'Europe/Rome'
  const date = new Date(value)
  const parts = new Intl.DateTimeFormat('en-GB', {
    year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit', timeZone
  }).formatToParts(date)
  const moment = Object.fromEntries(parts.map(({ type, value }) => [type, value])) as Moment
  let isKnown = true
  const text = pattern.replace(/%(-?)(.)/gs, (_, flag: string, name: string) => {
    if (name === '%') return '%'
    if (Object.hasOwn(NAMES, name)) {
      return new Intl.DateTimeFormat(LOCALES[language], { ...NAMES[name as keyof Names], timeZone }).format(date)
    }
    const write = Object.hasOwn(DIRECTIVES, name) ? DIRECTIVES[name] : undefined
    if (write === undefined) isKnown = false
    const written = write?.(moment) ?? ''
    return flag === '' ? written : written.replace(/^[0 ](?=\d)/, '')
  })
  return isKnown ? text : undefined
}
