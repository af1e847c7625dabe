import type { Day } from '#src/lib/time.ts'
import type { BirthPlace } from '../guest/guest-codes-plugin.ts'
import type { DocumentKind } from '../guest/document-kind.ts'

/** The fields that a document without an MRZ prints, as far as OCR shows them. */
export interface PrintedDocument {
  kind: DocumentKind
  cognome: string | undefined
  nome: string | undefined
  sesso?: 'M' | 'F' | undefined
  data_nascita: Day | undefined
  birthPlace: BirthPlace | undefined
  /** A code of the police. */
  cittadinanza?: string | undefined
  numero_documento: string | undefined
  luogo_rilascio: string | undefined
  expiry: Day | undefined
}
