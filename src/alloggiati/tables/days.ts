import type { Day } from '#src/lib/time.ts'

/** True when a place of the tables was in force on `day`; its last day counts. */
export function inForce (luogo: { cessato_il: Day | null }, day: Day): boolean {
  return luogo.cessato_il === null || day <= luogo.cessato_il
}

/** A day as Italian texts and the service's tables write it, `gg/mm/aaaa`. */
export function italianDay (day: Day): string {
  return `${day.slice(8)}/${day.slice(5, 7)}/${day.slice(0, 4)}`
}
