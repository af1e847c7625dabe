import type { GuestCase } from './case.ts'
import type { SchedinaField } from '#schemas/schedina.ts'
import type { FieldFault } from '../codec/codec.ts'
import { readDay } from '#src/lib/time.ts'
import type { Comune } from '../tables/types.ts'

const VALUE_MAX = 30

/** Values for the `{…}` of a rule's message. `proposta` is the only right value, which clients can fill in. */
export type Values = Readonly<Record<string, string | number | undefined>>

/** One rule of the police record. */
export interface Rule {
  id: string
  field: RemarkField
  /** The guest types to which the rule applies. All by default. */
  concerns?: readonly string[]
  /** Severity `error` by default, which blocks a submission. */
  severity?: 'warning'
  /** The message in Italian. `{name}` is replaced by the value of that name from `applies`. */
  message: string
  /** The official document, or the reason for a rule of this project. */
  source: string
  /** Whether the guest breaks the rule. False if its precondition fails, because another rule reports that. */
  applies (guest: GuestCase): boolean | Values
}

export const STAY_FIELDS = ['check_in', 'check_out', 'numero_notti', 'id_appartamento'] as const

/** A guest's own days, if they differ from the days of the stay. */
export const OWN_DAY_FIELDS = ['arrivo', 'partenza'] as const

/** The possible subjects of a remark, by API name. `ospiti` is the whole list. */
type RemarkField = SchedinaField | typeof STAY_FIELDS[number] | typeof OWN_DAY_FIELDS[number] | 'ospiti'

/** Fields whose names differ between record and API. */
const API_NAMES: Partial<Record<FieldFault['field'], RemarkField>> = {
  data_arrivo: 'check_in',
  permanenza: 'numero_notti',
  provincia: 'provincia_nascita',
  tipo_doc: 'tipo_documento',
  num_doc: 'numero_documento',
  line: 'ospiti'
}

/** Converts a record's field name to the API's. */
export function apiName (field: FieldFault['field']): string {
  return API_NAMES[field] ?? field
}

/** The advice about a value that is not a valid day. It gives the right spelling for a day in another notation. */
export function dayAdvice (text: string): Values {
  const valore = text.length > VALUE_MAX ? `${text.slice(0, VALUE_MAX)}…` : text
  const proposta = readDay(text)
  const consiglio = proposta === undefined
    ? 'non è un giorno del calendario: scrivere la data come AAAA-MM-GG'
    : `va scritta come ${proposta}`
  return { valore, consiglio, proposta }
}

/** Lists the comuni that a host has to choose from, for a message. */
export function namedComuni (comuni: readonly Comune[]): string {
  return comuni.map(({ codice, descrizione, provincia }) => `${codice} ${descrizione} (${provincia})`).join(', ')
}
