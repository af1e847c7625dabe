import { searchKey } from '#src/lib/search-key.ts'
import type { Day } from '#src/lib/time.ts'
import type { Tables } from '../tables/code-tables.ts'
import { codeLabel } from '../tables/labels.ts'
import { inForce, ITALY, type Codice, type Comune, type Stato } from '../tables/types.ts'

/** Maximum candidates in a message: the Soviet Union has 15 successor states. */
const LISTED_MAX = 15

/** Offices that issue documents. The text continues with a place or province. `MC` is the Motorizzazione. */
const OFFICE = new RegExp(
  '^(?:COMUNE|MUNICIPIO|QUESTURA|PREFETTURA|COMMISSARIATO|MOTORIZZAZIONE(?: CIVILE)?|UMC|MCTC|MC TC|MC|MIT) ' +
  '(?:DI |DEL |DELLA |DELL )?'
)
/** The central office of the Motorizzazione in Rome, which field 4c of driving licences names. */
const CENTRAL_OFFICE = /^(?:MIT ?)?UCO$|^MIT$|^MIMS$/
const ROME = '412058091'

/** Whether a place of issue is the central office that issues Italian driving licences. */
export function isCentralOffice (text: string): boolean {
  return CENTRAL_OFFICE.test(searchKey(text))
}

const TO_SEARCH = '. Cercare il codice con il nome in GET /api/alloggiati/codici?q='

/**
 * The end of a message about a wrong value (`consiglio`), and the proposed value if exactly one fits.
 * @param otherwise the end of the message when no value fits, or more than `LISTED_MAX`
 */
export function advice (
  found: readonly (Codice | Comune)[], otherwise = TO_SEARCH
): { consiglio: string, proposta?: string } {
  const [row, ...others] = found
  if (row === undefined || found.length > LISTED_MAX) return { consiglio: otherwise }
  return others.length > 0
    ? { consiglio: `: scegliere tra ${found.map(codeLabel).join(', ')}` }
    : { consiglio: `: indicare ${codeLabel(row)}`, proposta: row.codice }
}

/** Finds the states in force with this name or code. The code of an Italian comune counts as Italy. */
export function matchingStates (text: string, tables: Tables, day: Day): readonly Stato[] {
  const isComune = tables.comune(text) !== undefined
  return tables.named('paesi', isComune ? ITALY : text).filter((state) => inForce(state, day))
}

/** Finds the comuni in force with this name or code. If some are, or else were, in the province, returns only these. */
export function matchingComuni (text: string, provincia: string, tables: Tables, day: Day): readonly Comune[] {
  const found = tables.named('comuni', text).filter((comune) => inForce(comune, day))
  const listed = found.filter((comune) => comune.provincia === provincia)
  const past = found.filter((comune) => tables.hadSign(comune, provincia))
  return [listed, past].find((each) => each.length > 0) ?? found
}

/** Finds the places in force that a text names as the issuer of a document. */
export function matchingIssuers (text: string, tables: Tables, day: Day): readonly (Comune | Stato)[] {
  if (isCentralOffice(text)) return [tables.comune(ROME) ?? []].flat()
  const office = OFFICE.exec(searchKey(text))
  return office === null
    ? [...matchingComuni(text, '', tables, day), ...matchingStates(text, tables, day)]
    : matchingComuni(office.input.slice(office[0].length), '', tables, day)
}

/** The successors of an ended comune: the same name, or the code that a renaming assigned (900 more). */
export function successors ({ codice, descrizione }: Comune, tables: Tables, day: Day): readonly Comune[] {
  const sameName = tables.named('comuni', descrizione).filter((comune) => (
    comune.codice.startsWith(codice.slice(0, 3)) && inForce(comune, day)))
  const renamed = tables.comune(String(Number(codice) + 900))
  return sameName.length > 0 || renamed === undefined || !inForce(renamed, day) ? sameName : [renamed]
}
