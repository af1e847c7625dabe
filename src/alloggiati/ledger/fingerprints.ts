import type { Keys } from '#src/lib/secrets.ts'
import type { Day } from '#src/lib/time.ts'
import type { RecordSchedina } from '../codec/layout.ts'
import { foldDocument, foldName, nameKey } from '../codec/folding.ts'

/** The fields that identify a guest at an arrival. `num_doc` is empty for guests without a document. */
export type Guest = Pick<RecordSchedina, 'data_arrivo' | 'cognome' | 'nome' | 'data_nascita' | 'num_doc'> & {
  /** The saved guest's own arrival and departure. They do not identify the guest. */
  arrivo?: Day | null | undefined
  partenza?: Day | null | undefined
}

/** A guest as saved with a booking. Null or empty fields are unknown. */
export interface SavedGuest {
  cognome: string
  nome: string
  data_nascita: string | null
  numero_documento: string | null
  arrivo?: Day | null
  partenza?: Day | null
}

/** A saved guest at an arrival, with names and document number folded as they are sent. */
export function guestAt (
  data_arrivo: Day, { cognome, nome, data_nascita, numero_documento, arrivo, partenza }: SavedGuest
): Guest {
  return {
    data_arrivo,
    arrivo,
    partenza,
    cognome: foldName(cognome).text,
    nome: foldName(nome).text,
    data_nascita: data_nascita ?? '',
    num_doc: foldDocument(numero_documento ?? '').text
  }
}

/** Keyed fingerprints of a guest, account and arrival. Without the key, personal data cannot be recovered from them. */
export interface Fingerprints {
  /** The exact folded names and the birth date. */
  identita: Buffer
  /** The letters of both names in any order, and the birth date. */
  persona: Buffer
  /** Letters and digits of the document number. Null without a document. */
  documento: Buffer | null
}

/**
 * Computes the fingerprints of a guest at an arrival. The apartment does not matter, because a guest does not sleep in
 * two apartments on one night.
 */
export function fingerprint (
  keys: Keys, account: string, { data_arrivo, cognome, nome, data_nascita, num_doc }: Guest
): Fingerprints {
  const number = num_doc.toUpperCase().replace(/[^A-Z0-9]/g, '')
  return {
    identita: keys.fingerprint('schedina/identity', account, data_arrivo, cognome, nome, data_nascita),
    persona: keys.fingerprint('schedina/person', account, data_arrivo, nameKey(cognome, nome), data_nascita),
    documento: number === '' ? null : keys.fingerprint('schedina/document', account, data_arrivo, number)
  }
}
