import type { Avviso } from '#schemas/scanning.ts'
import { ageInYears, italianDay, type Day } from '#src/lib/time.ts'

const ADULT = 18

/** Warns when the holder is a minor. */
export function minor (born: Day, today: Day): Avviso[] {
  const age = ageInYears(born, today)
  return age < ADULT ? [{ campo: 'birthDate', messaggio: `L’ospite è minorenne (anni compiuti: ${age})` }] : []
}

/** Warns when the document has expired. */
export function expired (day: Day, today: Day): Avviso[] {
  return day < today ? [{ campo: 'expiryDate', messaggio: `Il documento è scaduto il ${italianDay(day)}` }] : []
}
