import { isDay, type Day } from '#src/lib/time.ts'

/** Why a zone date is invalid: it has fillers, has letters, or is not in the calendar. */
export type DateFault = 'incomplete' | 'unreadable' | 'impossible'

/** A zone date: a valid day, or the six characters and why they are invalid. */
export type ZoneDate = { day: Day, fault?: undefined } | { day?: undefined, fault: DateFault, text: string }

/** Maximum years until expiry. It decides the century: a year further ahead lies in the past. */
const EXPIRY_AHEAD = 50
const SIX_DIGITS = /^\d{6}$/

/** Parses the birth date at a position of a line. The century is the latest one that is not in the future. */
export function birthDate (line: string, from: number, today: Day): ZoneDate {
  const text = line.slice(from, from + 6)
  if (!SIX_DIGITS.test(text)) return notWhole(text)
  const century = Number(today.slice(0, 2))
  const day = [century, century - 1].map((each) => dayOf(each * 100, text)).find((each) => isDay(each) && each <= today)
  return day === undefined ? { fault: 'impossible', text } : { day }
}

/** Parses an expiry date: up to 50 years ahead, otherwise in the past. */
export function expiryDate (line: string, from: number, today: Day): ZoneDate {
  const text = line.slice(from, from + 6)
  if (!SIX_DIGITS.test(text)) return notWhole(text)
  const last = Number(today.slice(0, 4)) + EXPIRY_AHEAD
  const century = Number(text.slice(0, 2)) > last % 100 ? last - last % 100 - 100 : last - last % 100
  const day = dayOf(century, text)
  return isDay(day) ? { day } : { fault: 'impossible', text }
}

/** Six digits as `YYYY-MM-DD`; the day may not exist. */
function dayOf (century: number, text: string): Day {
  return `${century + Number(text.slice(0, 2))}-${text.slice(2, 4)}-${text.slice(4)}`
}

/** Explains an incomplete date. 00 means unknown, like a filler. */
function notWhole (text: string): ZoneDate {
  if (/[A-Z]/.test(text)) return { fault: 'unreadable', text }
  const isImpossible = isAbove(text.slice(2, 4), 12) || isAbove(text.slice(4), 31)
  return { fault: isImpossible ? 'impossible' : 'incomplete', text }
}

function isAbove (digits: string, most: number): boolean {
  return /^\d\d$/.test(digits) && Number(digits) > most
}
