import type { Day } from '#src/lib/time.ts'

/** True when a place of the tables was in force on `day`; its last day counts. */
export function inForce (luogo: { cessato_il: Day | null }, day: Day): boolean {
  return luogo.cessato_il === null || day <= luogo.cessato_il
}
