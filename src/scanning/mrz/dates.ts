import { isDay, type Day } from '#src/lib/time.ts'

/** Why a date of the zone is no day: not whole, with signs that no date has, or in no calendar. */
export type DateFault = 'incomplete' | 'unreadable' | 'impossible'

/** A date of the zone: the six characters, and the day that they mean or why they mean none. */
export type ZoneDate =
  | { text: string, day: Day, fault?: undefined }
  | { text: string, day?: undefined, fault: DateFault }

/** Years beyond today in which a document may expire: the century follows (a year further ahead has passed). */
const EXPIRY_AHEAD = 50

/** A date of birth: of the years that it may mean, the latest that is not in the future. */
export function birthDate (text: string, today: Day): ZoneDate {
  const century = Number(today.slice(0, 2))
  return zoneDate(text, [century, century - 1].map((each) => each * 100), (day) => day <= today)
}

/** A date of expiry: up to 50 years ahead, else in the past. */
export function expiryDate (text: string, today: Day): ZoneDate {
  const last = Number(today.slice(0, 4)) + EXPIRY_AHEAD
  const year = last - ((last - Number(text.slice(0, 2))) % 100 + 100) % 100
  return zoneDate(text, [year - year % 100], () => true)
}

function zoneDate (text: string, centuries: readonly number[], fits: (day: Day) => boolean): ZoneDate {
  if (/[A-Z]/.test(text)) return { text, fault: 'unreadable' }
  const [, yy, mm, dd] = /^(..)(..)(..)$/.exec(text)!
  // 00 stands for what is not known, as a filler does.
  if (text.includes('<')) return { text, fault: Number(mm) > 12 || Number(dd) > 31 ? 'impossible' : 'incomplete' }
  const days = centuries.map((century) => `${String(century + Number(yy)).padStart(4, '0')}-${mm}-${dd}`)
  const day = days.find((each) => isDay(each) && fits(each))
  return day === undefined ? { text, fault: 'impossible' } : { text, day }
}
