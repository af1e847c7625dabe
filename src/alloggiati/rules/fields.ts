import type { SchedinaField } from '#schemas/schedina.ts'
import type { FieldFault } from '../codec/codec.ts'

/** The fields of the stay. */
export const STAY_FIELDS = ['check_in', 'numero_notti', 'id_appartamento'] as const

/** What a remark can be about, by its name in the API; `ospiti` is the list as a whole. */
export type RemarkField = SchedinaField | typeof STAY_FIELDS[number] | 'ospiti'

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
