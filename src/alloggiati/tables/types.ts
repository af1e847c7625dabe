import type { Day } from '#src/lib/time.ts'

export const ITALY = '100000100'

/** The code of stateless persons: a citizenship, not a place. */
export const STATELESS = '100000999'

export interface Codice { codice: string, descrizione: string }

/** A place of the `Luoghi` table. The table has no start dates, only the last day of validity. */
interface Luogo extends Codice { cessato_il: Day | null }

/** An Italian comune. `provincia` is the abbreviation of its province, such as `RM`. */
export interface Comune extends Luogo { provincia: string }

/** A state. Its ISO 3166-1 codes are null if it has none (ceased states, `APOLIDE`), or is not in the snapshot. */
export interface Stato extends Luogo {
  iso2: string | null
  iso3: string | null
  /** Alternative names, which searches also use. */
  altri_nomi: readonly string[]
}

/** A province. `cessata` when no comune in force belongs to it any more. */
export interface Provincia extends Codice { cessata: boolean }

export interface TablesData {
  comuni: readonly Comune[]
  stati: readonly Stato[]
  documenti: readonly Codice[]
  tipi_alloggiato: readonly Codice[]
}

/** Whether a place existed on `day`, its last day included. */
export function inForce (luogo: { cessato_il: Day | null }, day: Day): boolean {
  return luogo.cessato_il === null || day <= luogo.cessato_il
}
