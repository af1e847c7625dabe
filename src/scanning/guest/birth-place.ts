import type { Day } from '#src/lib/time.ts'
import type { BirthPlace, GuestCodes } from './codes.ts'

/** As Italian identity cards print it: `ROMA (RM) 30.12.1964`. */
const PLACE_AND_DATE = /^([\p{L}'’`.\- ]{2,60}?)\s*\(([A-Z]{2})\)\s*,?\s*(\d{2})[./-](\d{2})[./-](\d{4})$/u

/**
 * The comune of birth that the text of an Italian identity card names beyond doubt: on a line with its province and
 * with the day of birth that the zone proves, in the tables once with just that name; undefined otherwise.
 */
export function birthPlaceIn (text: string, born: Day, codes: GuestCodes): BirthPlace | undefined {
  const found = text.split('\n').flatMap((line) => {
    const [, name, province, day, month, year] = PLACE_AND_DATE.exec(line.trim()) ?? []
    return name !== undefined && `${year}-${month}-${day}` === born ? [codes.birthPlace(name, province!, born)] : []
  })
  const [first] = found
  return found.every((each) => each !== undefined && each.comune === first?.comune) ? first : undefined
}
