import { isBirthDate, isDay, type Day } from '#src/lib/time.ts'

/**
 * The reason why a date of a zone is invalid: it contains fillers or 00 (`incomplete`) or letters (`unreadable`), or
 * does not exist in the calendar (`impossible`).
 */
export type DateFault = 'incomplete' | 'unreadable' | 'impossible'

/**
 * A date of a zone: a valid day, or the six characters and the reason why they are invalid. `partial` is an
 * incomplete birth date with 00 for the parts that are missing.
 */
export type ZoneDate =
  | { day: Day, fault?: undefined, partial?: undefined }
  | { day?: undefined, fault: DateFault, text: string, partial?: string }

/** Maximum years until the expiry date. A date further ahead belongs to the past century. */
const EXPIRY_AHEAD = 50
/** Six digits. 00 as month or day means unknown, like a filler. */
const WHOLE = /^\d\d(?!00)\d\d(?!00)\d\d$/

/** Parses the birth date at a position of a line. The century is the latest one that is not in the future. */
export function birthDate (line: string, from: number, today: Day): ZoneDate {
  const text = line.slice(from, from + 6)
  const century = Number(today.slice(0, 2))
  if (!WHOLE.test(text)) {
    const date = notWhole(text)
    return date.fault === 'incomplete' ? { ...date, ...partialBirthDate(text, century, today) } : date
  }
  const day = [century, century - 1].map((each) => dayOf(each * 100, text)).find((each) => isDay(each) && each <= today)
  return day === undefined ? { fault: 'impossible', text } : { day }
}

/** Parses an expiry date. The century is the latest one that puts it at most 50 years ahead. */
export function expiryDate (line: string, from: number, today: Day): ZoneDate {
  const text = line.slice(from, from + 6)
  if (!WHOLE.test(text)) return notWhole(text)
  const last = Number(today.slice(0, 4)) + EXPIRY_AHEAD
  const century = Number(text.slice(0, 2)) > last % 100 ? last - last % 100 - 100 : last - last % 100
  const day = dayOf(century, text)
  return isDay(day) ? { day } : { fault: 'impossible', text }
}

/** Six digits as `YYYY-MM-DD`. The day may not exist in the calendar. */
function dayOf (century: number, text: string): Day {
  return `${century + Number(text.slice(0, 2))}-${text.slice(2, 4)}-${text.slice(4)}`
}

/** The known parts of an incomplete birth date. Empty when the year is unknown. */
function partialBirthDate (text: string, century: number, today: Day): { partial?: string } {
  const month = /^\d\d$/.test(text.slice(2, 4)) ? text.slice(2, 4) : '00'
  const dates = [century, century - 1].map((each) => `${each}${text.slice(0, 2)}-${month}-00`)
  const partial = dates.find((date) => isBirthDate(date) && date <= today)
  return partial === undefined ? {} : { partial }
}

/** The fault of a date that is not `WHOLE`. */
function notWhole (text: string) {
  if (/[A-Z]/.test(text)) return { fault: 'unreadable' as const, text }
  const isImpossible = isAbove(text.slice(2, 4), 12) || isAbove(text.slice(4), 31)
  return { fault: isImpossible ? 'impossible' as const : 'incomplete' as const, text }
}

function isAbove (digits: string, max: number): boolean {
  return /^\d\d$/.test(digits) && Number(digits) > max
}
