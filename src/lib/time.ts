/**
 * The one clock of the product. Calendar days are plain `YYYY-MM-DD` strings and are never turned into local `Date`s:
 * arithmetic on them is done in UTC, where every day has 24 hours, so daylight saving cannot move a date.
 */

/** A calendar day, `YYYY-MM-DD`. */
export type Day = string

export interface Clock {
  /** The present instant. */
  now (): Date
  /** The present calendar day in Europe/Rome. */
  today (): Day
}

const MS_PER_DAY = 86_400_000
const MS_PER_HOUR = 3_600_000
const DAY_PATTERN = /^(\d{4})-(\d{2})-(\d{2})$/

// The Swedish forms are the ISO ones: `2026-11-22` and `2026-11-22 14:00:00`.
const romeDay = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Rome', dateStyle: 'short' })
const romeClock = new Intl.DateTimeFormat('sv-SE', {
  timeZone: 'Europe/Rome', dateStyle: 'short', timeStyle: 'medium'
})
const romeText = new Intl.DateTimeFormat('it-IT', { timeZone: 'Europe/Rome', dateStyle: 'short', timeStyle: 'short' })

/** An instant as people in Italy write it, in Europe/Rome: `22/11/26, 14:00`. */
export function inRome (instant: Date): string {
  return romeText.format(instant)
}

/** The calendar day of an instant in Europe/Rome. */
export function dayInRome (instant: Date): Day {
  return romeDay.format(instant).padStart('YYYY-MM-DD'.length, '0')
}

/** A day as Italian texts and the police write it, `gg/mm/aaaa`. */
export function italianDay (day: Day): string {
  return `${day.slice(8)}/${day.slice(5, 7)}/${day.slice(0, 4)}`
}

/** True for a `YYYY-MM-DD` that exists in the calendar (`2026-02-30` does not; the year 0000 neither). */
export function isDay (text: string): boolean {
  const match = DAY_PATTERN.exec(text)
  if (!match || match[1] === '0000') return false
  const instant = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(instant.getTime()) && instant.toISOString().startsWith(text)
}

/** `day` moved by a whole number of days (negative goes back). */
export function addDays (day: Day, days: number): Day {
  return new Date(epochDay(day) * MS_PER_DAY + days * MS_PER_DAY).toISOString().slice(0, 10)
}

/** Days from `from` to `to`; negative when `to` comes first. */
export function daysBetween (from: Day, to: Day): number {
  return epochDay(to) - epochDay(from)
}

/**
 * Whole years of age on `on` of a person born on `born` (a 29 February birthday counts from 1 March in common years).
 */
export function ageInYears (born: Day, on: Day): number {
  const years = Number(on.slice(0, 4)) - Number(born.slice(0, 4))
  return on.slice(5) < born.slice(5) ? years - 1 : years
}

/**
 * The process clock. With `today` (the `TODAY` setting of tests and demos) the calendar stands on that day
 * while the hours go on as they are.
 */
export function createClock (today?: Day): Clock {
  const now = () => {
    const real = new Date()
    if (today === undefined) return real
    const moved = new Date(real.getTime() + daysBetween(dayInRome(real), today) * MS_PER_DAY)
    // Between summer and winter the clocks differ by an hour, which around midnight is a day.
    const day = dayInRome(moved)
    return day === today ? moved : new Date(moved.getTime() + (day > today ? -MS_PER_HOUR : MS_PER_HOUR))
  }
  return { now, today: () => today ?? dayInRome(now()) }
}

function epochDay (day: Day): number {
  return Date.parse(`${day}T00:00:00Z`) / MS_PER_DAY
}

/**
 * The instant of a wall-clock hour of a day in Europe/Rome. An hour that the clocks skip is taken as if they had not
 * yet been moved; of one that comes twice, the first is meant.
 */
export function instantInRome (day: Day, hour: number, minute = 0): Date {
  const wall = Date.parse(`${day}T${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}:00Z`)
  const candidates = [2, 1].map((offset) => new Date(wall - offset * MS_PER_HOUR))
  return candidates.find((instant) => wallClock(instant) === wall) ?? candidates[1]!
}

/** What the clocks in Rome show at an instant, read as if it were UTC. */
function wallClock (instant: Date): number {
  return Date.parse(`${romeClock.format(instant).replace(' ', 'T')}Z`)
}
