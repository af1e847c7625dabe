import type { Avviso } from '#schemas/scanning.ts'
import { ageInYears, italianDay, type Day } from '#src/lib/time.ts'

const ADULT = 18

/** What a person should know of the holder of a document, by the day of birth. */
export function minor (born: Day, today: Day): Avviso[] {
  const age = ageInYears(born, today)
  return age < ADULT ? [{ campo: 'birthDate', messaggio: `L’ospite è minorenne (anni compiuti: ${age})` }] : []
}

/** What a person should know of a document, by its last day. */
export function expired (day: Day, today: Day): Avviso[] {
  return day < today ? [{ campo: 'expiryDate', messaggio: `Il documento è scaduto il ${italianDay(day)}` }] : []
}
