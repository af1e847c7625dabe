/**
 * The clock of the product. Calendar days are `YYYY-MM-DD` strings, and never become local `Date`s. Day arithmetic uses
 * UTC, in which every day has 24 hours, so that daylight saving time cannot shift a date.
 */

/** A calendar day, `YYYY-MM-DD`. */
export type Day = string

export interface Clock {
  /** The current instant. */
  now (): Date
  /** The current day in Europe/Rome. */
  today (): Day
}

const MS_PER_DAY = 86_400_000
const MS_PER_HOUR = 3_600_000
const DAY_PATTERN = /^(\d{4})-(\d{2})-(\d{2})$/

// The Swedish locale gives the ISO format: `2026-11-22` and `2026-11-22 14:00:00`.
const romeDay = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Rome', dateStyle: 'short' })
const romeClock = new Intl.DateTimeFormat('sv-SE', {
  timeZone: 'Europe/Rome', dateStyle: 'short', timeStyle: 'medium'
})
const romeText = new Intl.DateTimeFormat('it-IT', {
  timeZone: 'Europe/Rome', year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit'
})

/** An instant in Italian format, Europe/Rome: `22/11/2026, 14:00`. */
export function inRome (instant: Date): string {
  return romeText.format(instant)
}

/** The calendar day of an instant in Europe/Rome. */
export function dayInRome (instant: Date): Day {
  return romeDay.format(instant).padStart('YYYY-MM-DD'.length, '0')
}

/** A day in the Italian format of texts and the police, `gg/mm/aaaa`. */
export function italianDay (day: Day): string {
  return `${day.slice(8)}/${day.slice(5, 7)}/${day.slice(0, 4)}`
}

const MONTH_LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** Whether a `YYYY-MM-DD` exists in the calendar. `2026-02-30` and the year 0000 do not exist. */
export function isDay (text: string): boolean {
  const match = DAY_PATTERN.exec(text)
  if (!match) return false
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])]
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const lastDay = month === 2 && isLeap ? 29 : MONTH_LENGTHS[month - 1] ?? 0
  return year > 0 && day > 0 && day <= lastDay
}

/**
 * The first possible day of an incomplete date, in which a part is 00 or missing: `1970-00-00`, `1970-05-00`, `1970`.
 * Undefined for any other text.
 */
export function firstDayOf (text: string): Day | undefined {
  const [, year, month = '00'] = /^((?:1[89]|20)\d\d)(?:-(\d\d))?(?:-00)?$/.exec(text) ?? []
  const day = `${year}-${month === '00' ? '01' : month}-01`
  return isDay(day) ? day : undefined
}

/** Whether a text is a birth date as documents have it: a day, or one in which 00 is the day, or month and day. */
export function isBirthDate (text: string): boolean {
  return isDay(text) || (text.length === 'YYYY-MM-DD'.length && firstDayOf(text) !== undefined)
}

/** Days as people and other programs write them: `30/11/2026`, `30.11.2026`, `2026/11/30`, an instant. */
const ITALIAN_DAY = /^(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})$/
const YEAR_FIRST = /^(\d{4})[/.-]?(\d{1,2})[/.-]?(\d{1,2})(?:[T ].*)?$/

/** Converts a day in another notation to `YYYY-MM-DD`: `03/04/2026` is 3 April. Undefined for other texts. */
export function readDay (text: string): Day | undefined {
  const [, day, month, year] = ITALIAN_DAY.exec(text.trim()) ?? []
  const [, first = year, second = month, third = day] = YEAR_FIRST.exec(text.trim()) ?? []
  if (first === undefined || second === undefined || third === undefined) return undefined
  const read = `${first}-${second.padStart(2, '0')}-${third.padStart(2, '0')}`
  return isDay(read) ? read : undefined
}

/** `day` plus a number of days, which may be negative. */
export function addDays (day: Day, days: number): Day {
  return new Date(epochDay(day) * MS_PER_DAY + days * MS_PER_DAY).toISOString().slice(0, 10)
}

/** Number of days from `from` to `to`. Negative if `to` is earlier. */
export function daysBetween (from: Day, to: Day): number {
  return epochDay(to) - epochDay(from)
}

/** Age in whole years on day `on`. In common years, a birthday on 29 February counts from 1 March. */
export function ageInYears (born: Day, on: Day): number {
  const years = Number(on.slice(0, 4)) - Number(born.slice(0, 4))
  return on.slice(5) < born.slice(5) ? years - 1 : years
}

/**
 * The process clock. With `today` (the setting `TODAY` for tests and demos) the date stays the same, but the time of
 * day continues.
 */
export function createClock (today?: Day): Clock {
  const now = () => {
    const real = new Date()
    if (today === undefined) return real
    const moved = new Date(real.getTime() + daysBetween(dayInRome(real), today) * MS_PER_DAY)
    // Summer and winter time differ by an hour, which can move an instant near midnight to another day.
    const day = dayInRome(moved)
    return day === today ? moved : new Date(moved.getTime() + (day > today ? -MS_PER_HOUR : MS_PER_HOUR))
  }
  return { now, today: () => today ?? dayInRome(now()) }
}

function epochDay (day: Day): number {
  return Date.parse(`${day}T00:00:00Z`) / MS_PER_DAY
}

/**
 * The instant of a wall-clock time in Europe/Rome. A time that daylight saving time skips uses the offset before the
 * change. An ambiguous time means the first one.
 */
export function instantInRome (day: Day, hour: number, minute = 0): Date {
  const wall = Date.parse(`${day}T${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}:00Z`)
  const candidates = [2, 1].map((offset) => new Date(wall - offset * MS_PER_HOUR))
  return candidates.find((instant) => wallClock(instant) === wall) ?? candidates[1]!
}

/** Rome's wall-clock time at an instant, as if it were UTC. */
function wallClock (instant: Date): number {
  return Date.parse(`${romeClock.format(instant).replace(' ', 'T')}Z`)
}
