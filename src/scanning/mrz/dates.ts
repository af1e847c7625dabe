import type { Day } from '#src/lib/time.ts'
import { ZERO_CODE } from './digits.ts'

/** Why a date of the zone is no day: not whole, with signs that no date has, or in no calendar. */
export type DateFault = 'incomplete' | 'unreadable' | 'impossible'

/** A date of the zone: the day that its six characters mean, or these and why they mean none. */
export type ZoneDate = { day: Day, fault?: undefined } | { day?: undefined, fault: DateFault, text: string }

/** Years beyond today in which a document may expire: the century follows (a year further ahead has passed). */
const EXPIRY_AHEAD = 50

const LONGEST_MONTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const
const TWO_DIGITS = Array.from({ length: 100 }, (_, n) => String(n).padStart(2, '0'))
const LEAP_DAY = 229
/* Days are put together from tables, which makes a tenth of the time of a zone. */
const YEARS = Array.from({ length: 10_000 }, (_, n) => String(n).padStart(4, '0'))

/** `-MM-DD` by month times 100 and day, of the days that some year has. */
const DAYS_OF_YEAR: (string | undefined)[] = Array(10_000).fill(undefined)
for (const [at, days] of LONGEST_MONTHS.entries()) {
  for (let day = 1; day <= days; day++) {
    DAYS_OF_YEAR[(at + 1) * 100 + day] = `-${TWO_DIGITS[at + 1]}-${TWO_DIGITS[day]}`
  }
}

/** A date of birth, from a place of a line on: of the years that it may mean, the latest that is not in the future. */
export function birthDate (line: string, from: number, today: Day): ZoneDate {
  const year = twoDigits(line, from)
  const monthAndDay = fourDigits(line, from + 2)
  if (year === -1 || monthAndDay === -1) return notWhole(line, from)
  const thisYear = fourDigits(today, 0)
  const latest = thisYear - thisYear % 100 + year
  const isFuture = latest * 10_000 + monthAndDay > thisYear * 10_000 + twoDigits(today, 5) * 100 + twoDigits(today, 8)
  const day = (isFuture ? undefined : dayOf(latest, monthAndDay)) ?? dayOf(latest - 100, monthAndDay)
  return day === undefined ? impossible(line, from) : { day }
}

/** A date of expiry: up to 50 years ahead, else in the past. */
export function expiryDate (line: string, from: number, today: Day): ZoneDate {
  const year = twoDigits(line, from)
  const monthAndDay = fourDigits(line, from + 2)
  if (year === -1 || monthAndDay === -1) return notWhole(line, from)
  const last = fourDigits(today, 0) + EXPIRY_AHEAD
  const day = dayOf(last - (last - year) % 100, monthAndDay)
  return day === undefined ? impossible(line, from) : { day }
}

/** A day of a year; undefined when that year has none such. */
function dayOf (year: number, monthAndDay: number): Day | undefined {
  const isLeapYear = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const day = monthAndDay === LEAP_DAY && !isLeapYear ? undefined : DAYS_OF_YEAR[monthAndDay]
  return day === undefined ? undefined : YEARS[year]! + day
}

/** The number that the digits from a place on are; -1 when they are not all digits. */
function twoDigits (line: string, from: number): number {
  const tens = line.charCodeAt(from) - ZERO_CODE
  const ones = line.charCodeAt(from + 1) - ZERO_CODE
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : -1
}

function fourDigits (line: string, from: number): number {
  const first = twoDigits(line, from)
  const last = twoDigits(line, from + 2)
  return first === -1 || last === -1 ? -1 : first * 100 + last
}

/** 00 stands for what is not known, as a filler does. */
function notWhole (line: string, from: number): ZoneDate {
  const text = line.slice(from, from + 6)
  if (/[A-Z]/.test(text)) return { fault: 'unreadable', text }
  if (twoDigits(text, 2) > 12 || twoDigits(text, 4) > 31) return impossible(line, from)
  return { fault: 'incomplete', text }
}

function impossible (line: string, from: number): ZoneDate {
  return { fault: 'impossible', text: line.slice(from, from + 6) }
}
