import { inForce } from '../tables/days.ts'
import type { Tables } from '../tables/tables.ts'
import type { Comune, Stato } from '../tables/types.ts'
import type { Day } from '#src/lib/time.ts'
import { ITALIA } from './fields.ts'

/** What a comune code stands for on a given day. */
export type EsitoComune =
  { esito: 'assente' | 'sconosciuto' } |
  { esito: 'trovato', comune: Comune } |
  { esito: 'cessato', comune: Comune } |
  { esito: 'ambiguo', candidati: readonly Comune[] }

/** The place of birth as far as it can be told from what was given. */
export interface Nascita {
  /** Code of the birth state: the given one, or the one that the comune implies; `''` when neither says it. */
  codiceStato: string
  stato: Stato | undefined
  /**
   * Found only for a birth in Italy. `estraneo`: born abroad, but the comune is something else than the state's code
   * again.
   */
  comune: EsitoComune | { esito: 'estraneo' }
}

/** The place of issue: an Italian comune in force, or a foreign state. */
export type Rilascio = EsitoComune | { esito: 'estero' | 'italia' } | { esito: 'stato-cessato', stato: Stato }

/** What the places are judged with. `nascita` is undefined while the birth date is missing or wrong. */
export interface Contesto { tables: Tables, nascita: Day | undefined, oggi: Day }

/**
 * Reads the place of birth. For a birth abroad the comune may be empty or repeat the state's code, which then fills an
 * empty state; a code out of the comuni table fills it too, with Italy: both codes leave no doubt.
 */
export function resolveBirth (
  given: { comune: string; provincia: string; stato: string },
  { tables, nascita }: Contesto
): Nascita {
  const comune: EsitoComune =
    tables.stato(given.comune) === undefined
      ? findComune(given.comune, tables, nascita, given.provincia)
      : { esito: given.comune === ITALIA ? 'assente' : 'sconosciuto' }
  const codiceStato = given.stato || impliedState(given.comune, comune, tables)
  const stato = tables.stato(codiceStato)
  if (codiceStato === ITALIA) return { codiceStato, stato, comune }
  const fits = stato === undefined || given.comune === '' || given.comune === codiceStato
  return { codiceStato, stato, comune: { esito: fits ? 'assente' : 'estraneo' } }
}

/**
 * Reads the place of issue of a document. Issue places take codes in force only (guide p. 9 lists ceased ones for
 * births).
 */
export function resolveIssue (code: string, { tables, oggi }: Contesto): Rilascio {
  const stato = tables.stato(code)
  if (stato === undefined) return findComune(code, tables, oggi, '')
  if (code === ITALIA) return { esito: 'italia' }
  return inForce(stato, oggi) ? { esito: 'estero' } : { esito: 'stato-cessato', stato }
}

function impliedState (code: string, comune: EsitoComune, tables: Tables): string {
  if (tables.stato(code) !== undefined) return code
  return comune.esito === 'assente' || comune.esito === 'sconosciuto' ? '' : ITALIA
}

/** Looks up a comune by its 9 digits, or by the last 6 where these, the day and the province leave one. */
function findComune (code: string, tables: Tables, day: Day | undefined, provincia: string): EsitoComune {
  if (code === '') return { esito: 'assente' }
  const found = code.length === 6 ? tables.comuniByShortCode(code) : [tables.comune(code) ?? []].flat()
  const first = found[0]
  if (first === undefined) return { esito: 'sconosciuto' }
  const current = day === undefined ? found : found.filter((comune) => inForce(comune, day))
  if (current.length === 0) return { esito: 'cessato', comune: first }
  const narrowed = current.length > 1 ? current.filter((comune) => comune.provincia === provincia) : current
  return narrowed.length === 1 && narrowed[0] !== undefined
    ? { esito: 'trovato', comune: narrowed[0] }
    : { esito: 'ambiguo', candidati: current }
}
