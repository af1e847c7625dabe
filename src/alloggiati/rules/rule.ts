import type { Caso } from './case.ts'
import type { Campo } from './fields.ts'

/** Values for the `{…}` of a rule's text. */
export type Valori = Readonly<Record<string, string | number>>

/** One rule of the police record: what it is about, whom it concerns, how grave it is, what it says and who says so. */
export interface Rule {
  id: string
  campo: Campo
  /** Guest types it concerns; `elenco`: judged once, on the first guest, because it is about the stay. */
  per: readonly string[] | 'tutti' | 'elenco'
  gravita: 'error' | 'warning'
  /** Italian; `{name}` is filled from what `trova` gives. */
  messaggio: string
  /** Official document, or the reason of a rule of our own. */
  fonte: string
  /** Whether the rule strikes; a rule whose precondition another one judges keeps silent. */
  trova (caso: Caso): boolean | Valori
}
