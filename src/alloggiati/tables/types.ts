import type { Day } from '#src/lib/time.ts'

export const ITALY = '100000100'

/** The code of the stateless: a citizenship, and no place. */
export const STATELESS = '100000999'

export interface Codice { codice: string, descrizione: string }

/** A place of the `Luoghi` table. There is no start date: only the last day on which the code was in force. */
interface Luogo extends Codice { cessato_il: Day | null }

/** An Italian comune, under the province it has (or had) with this code. */
export interface Comune extends Luogo { provincia: string }

/** A state; ISO 3166-1 codes are null where there are none (ceased states, `APOLIDE`). */
export interface Stato extends Luogo {
  iso2: string | null
  iso3: string | null
  /** What people call it otherwise: a search finds it by these names, too. */
  altri_nomi: readonly string[]
}

/** A province sign; `cessata` when no comune in force carries it any more. */
export interface Provincia extends Codice { cessata: boolean }

export interface TablesData {
  comuni: readonly Comune[]
  stati: readonly Stato[]
  documenti: readonly Codice[]
  tipi_alloggiato: readonly Codice[]
}

/** True when a place of the tables was in force on `day`; its last day counts. */
export function inForce (luogo: { cessato_il: Day | null }, day: Day): boolean {
  return luogo.cessato_il === null || day <= luogo.cessato_il
}
