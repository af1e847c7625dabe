import type { Avviso } from '#schemas/scanning.ts'
import { dayWithArticle } from '#src/lib/day-with-article.ts'
import { ageInYears, italianDay, type Day } from '#src/lib/time.ts'

const ADULT = 18

/** A notice when the holder is a minor. */
export function minor (born: Day, today: Day): Avviso[] {
  const age = ageInYears(born, today)
  return age < ADULT ? [{ campo: 'birthDate', messaggio: `L’ospite è minorenne (anni compiuti: ${age})` }] : []
}

/** Advice on the birth date to enter when day or month are unknown: the first possible day. */
export function writeFirst (first: Day): string {
  return `se nessun documento indica il giorno e il mese, di norma si scrive ${italianDay(first)}`
}

/** A notice when the document has expired. */
export function expired (day: Day, today: Day): Avviso[] {
  const messaggio = `Il documento è scaduto ${dayWithArticle('il', day)}`
  return day < today ? [{ campo: 'expiryDate', messaggio }] : []
}
