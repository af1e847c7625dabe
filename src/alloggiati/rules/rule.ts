import type { GuestCase } from './case.ts'
import type { SchedinaField } from '#schemas/schedina.ts'
import type { FieldFault } from '../codec/codec.ts'
import type { Comune } from '../tables/types.ts'

/** Values for the `{…}` of a rule's message. */
export type Values = Readonly<Record<string, string | number>>

/** One rule of the police record: what it is about, whom it concerns, how grave it is, what it says and its source. */
export interface Rule {
  id: string
  field: RemarkField
  /** The guest types that it concerns; all of them when it is left out. */
  concerns?: readonly string[]
  /** An error, which blocks a submission, when it is left out. */
  severity?: 'warning'
  /** Italian; `{name}` is filled from what `applies` gives. */
  message: string
  /** Official document, or the reason of a rule of our own. */
  source: string
  /** Whether there is something to remark. A rule whose precondition another rule judges says no. */
  applies (guest: GuestCase): boolean | Values
}

/** The fields of the stay. */
export const STAY_FIELDS = ['check_in', 'numero_notti', 'id_appartamento'] as const

/** What a remark can be about, by its name in the API; `ospiti` is the list as a whole. */
type RemarkField = SchedinaField | typeof STAY_FIELDS[number] | 'ospiti'

/** Fields that the record names differently from the API. */
const API_NAMES: Partial<Record<FieldFault['field'], RemarkField>> = {
  data_arrivo: 'check_in',
  permanenza: 'numero_notti',
  provincia: 'provincia_nascita',
  tipo_doc: 'tipo_documento',
  num_doc: 'numero_documento',
  line: 'ospiti'
}

/** The API's name of a field of the record. */
export function apiName (field: FieldFault['field']): string {
  return API_NAMES[field] ?? field
}

/** The comuni among which a host has to choose, as a message lists them. */
export function namedComuni (comuni: readonly Comune[]): string {
  return comuni.map(({ codice, descrizione, provincia }) => `${codice} ${descrizione} (${provincia})`).join(', ')
}
