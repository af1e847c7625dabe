import type { FieldFault } from '../codec/codec.ts'

/** The text fields of a guest, by their names in the API. */
export const CAMPI_OSPITE = [
  'tipo_alloggiato', 'cognome', 'nome', 'sesso', 'data_nascita', 'comune_nascita', 'provincia_nascita', 'stato_nascita',
  'cittadinanza', 'tipo_documento', 'numero_documento', 'luogo_rilascio'
] as const
export type CampoOspite = typeof CAMPI_OSPITE[number]

/** The fields of the stay. */
export const CAMPI_SOGGIORNO = ['check_in', 'numero_notti', 'id_appartamento'] as const

/** What a remark can be about; `ospiti` is the list as a whole. */
export type Campo = CampoOspite | typeof CAMPI_SOGGIORNO[number] | 'ospiti'

/** The guest types that bring a document and the ones that follow a leader. */
export const CON_DOCUMENTO: readonly string[] = ['16', '17', '18']
export const SENZA_DOCUMENTO: readonly string[] = ['19', '20']

/** State code of Italy. */
export const ITALIA = '100000100'

/** Fields that the record names differently from the API. */
const NOMI_API: Partial<Record<FieldFault['field'], Campo>> = {
  data_arrivo: 'check_in',
  permanenza: 'numero_notti',
  provincia: 'provincia_nascita',
  tipo_doc: 'tipo_documento',
  num_doc: 'numero_documento',
  line: 'ospiti'
}

/** The API's name of a field of the record. */
export function campoApi (campo: FieldFault['field']): string {
  return NOMI_API[campo] ?? campo
}
