import { isDay, type Day } from '#src/lib/time.ts'

/** Why a date of the zone is no day: not whole, with signs that no date has, or in no calendar. */
export type DateFault = 'incomplete' | 'unreadable' | 'impossible'

/** A date of the zone: the day that its six characters mean, or these and why they mean none. */
export type ZoneDate = { day: Day, fault?: undefined } | { day?: undefined, fault: DateFault, text: string }

/** Years beyond today in which a document may expire: the century follows (a year further ahead has passed). */
const EXPIRY_AHEAD = 50
const SIX_DIGITS = /^\d{6}$/

/** A date of birth, from a place of a line on: of the years that it may mean, the latest that is not in the future. */
export function birthDate (line: string, from: number, today: Day): ZoneDate {
  const text = line.slice(from, from + 6)
  if (!SIX_DIGITS.test(text)) return notWhole(text)
  const century = Number(today.slice(0, 2))
  const day = [century, century - 1].map((each) => dayOf(each * 100, text)).find((each) => isDay(each) && each <= today)
  return day === undefined ? { fault: 'impossible', text } : { day }
}

/** A date of expiry: up to 50 years ahead, else in the past. */
export function expiryDate (line: string, from: number, today: Day): ZoneDate {
  const text = line.slice(from, from + 6)
  if (!SIX_DIGITS.test(text)) return notWhole(text)
  const last = Number(today.slice(0, 4)) + EXPIRY_AHEAD
  const century = Number(text.slice(0, 2)) > last % 100 ? last - last % 100 - 100 : last - last % 100
  const day = dayOf(century, text)
  return isDay(day) ? { day } : { fault: 'impossible', text }
}

/** `YYYY-MM-DD` of six digits, which may be in no calendar. */
function dayOf (century: number, text: string): Day {
  return `${century + Number(text.slice(0, 2))}-${text.slice(2, 4)}-${text.slice(4)}`
}

/** 00 stands for what is not known, as a filler does. */
function notWhole (text: string): ZoneDate {
  if (/[A-Z]/.test(text)) return { fault: 'unreadable', text }
  const isImpossible = isAbove(text.slice(2, 4), 12) || isAbove(text.slice(4), 31)
  return { fault: isImpossible ? 'impossible' : 'incomplete', text }
}

function isAbove (digits: string, most: number): boolean {
  return /^\d\d$/.test(digits) && Number(digits) > most
}
