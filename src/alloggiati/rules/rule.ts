import type { GuestCase } from './case.ts'
import type { RemarkField } from './fields.ts'

/** Values for the `{…}` of a rule's message. */
export type Values = Readonly<Record<string, string | number>>

/** One rule of the police record: what it is about, whom it concerns, how grave it is, what it says and its source. */
export interface Rule {
  id: string
  field: RemarkField
  /** The guest types that it concerns; `stay`: it is about the stay, and judged once, on the first guest. */
  concerns: readonly string[] | 'everyone' | 'stay'
  severity: 'error' | 'warning'
  /** Italian; `{name}` is filled from what `applies` gives. */
  message: string
  /** Official document, or the reason of a rule of our own. */
  source: string
  /** Whether there is something to remark. A rule whose precondition another rule judges says no. */
  applies (guest: GuestCase): boolean | Values
}
