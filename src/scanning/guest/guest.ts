import {
  BIRTH_PLACE_FIELDS, SCANNED_FIELDS, type Avviso, type ParsedMrz, type ScannedGuest
} from '#schemas/scanning.ts'
import type { BirthPlace, GuestCodes } from './codes-in-force.ts'
import { documentKind, type DocumentKind } from './document-kind.ts'

/** Explains why the document fields stay empty. */
const NO_IDENTITY: Partial<Record<DocumentKind, string>> = {
  visa: 'È un visto: tipo, numero e luogo di rilascio si prendono dal passaporto',
  'residence-permit': 'È un permesso di soggiorno: serve un documento d’identità',
  other: 'Il tipo di documento non si ricava dalla zona: indicarlo'
}

/** Kinds derived from a second letter that every state could choose freely until 2021. */
const UNSURE: readonly DocumentKind[] = ['diplomatic-passport', 'service-passport', 'refugee-document']

/** The parsed fields that make a guest. */
export type GuestDocument = Pick<
  ParsedMrz,
  'name' | 'surname' | 'gender' | 'birthDate' | 'docNumber' | 'documentCode' | 'nationality' | 'issuingCountry'
>

/** Converts a document to a guest, with warnings for the host. */
export function guestOf (
  parsed: GuestDocument, codes: GuestCodes, birthPlace?: BirthPlace
): { ospite: ScannedGuest, avvisi: Avviso[] } {
  const kind = documentKind(parsed.documentCode, parsed.issuingCountry)
  const numero = parsed.docNumber.replaceAll('<', '')
  const isIdentity = kind !== 'visa' && kind !== 'residence-permit'
  const fields = {
    nome: parsed.name,
    cognome: parsed.surname,
    sesso: parsed.gender,
    data_nascita: parsed.birthDate,
    cittadinanza: codes.citizenship(parsed.nationality) ?? '',
    tipo_documento: codes.documentType(kind) ?? '',
    numero_documento: isIdentity ? numero : '',
    luogo_rilascio: (isIdentity && codes.placeOfIssue(parsed.issuingCountry)) || ''
  }
  const missing = SCANNED_FIELDS.filter((name) => fields[name] === '')
  return {
    ospite: birthPlace === undefined
      ? { ...fields, da_completare: [...missing, ...BIRTH_PLACE_FIELDS] }
      : { ...fields, ...proposed(birthPlace), da_completare: missing },
    avvisi: [
      ...documentNotices(kind, parsed.documentCode),
      ...(birthPlace === undefined ? [] : [proposal(birthPlace)]),
      ...(numero !== parsed.docNumber && isIdentity ? [HIDDEN_SIGN] : []),
      ...(fields.cittadinanza === '' ? [unknownCitizenship(parsed.nationality)] : [])
    ]
  }
}

function proposed ({ stato, comune, provincia }: BirthPlace) {
  return {
    stato_nascita: stato, comune_nascita: comune, provincia_nascita: provincia, proposti: [...BIRTH_PLACE_FIELDS]
  }
}

function proposal ({ label }: BirthPlace): Avviso {
  return { campo: 'comune_nascita', messaggio: `${label} è proposto dal testo del documento: controllarlo` }
}

/** Fillers inside a number replace blanks and signs that a zone cannot print. */
const HIDDEN_SIGN: Avviso = {
  campo: 'numero_documento',
  messaggio: 'Il numero ha segni che la zona non riporta: confrontarlo con il documento'
}

function documentNotices (kind: DocumentKind, code: string): Avviso[] {
  const campo = 'tipo_documento'
  const reason = NO_IDENTITY[kind]
  if (reason !== undefined) return [{ campo, messaggio: reason }]
  return UNSURE.includes(kind) ? [{ campo, messaggio: `Tipo ricavato dalla sigla ${code}: controllarlo` }] : []
}

function unknownCitizenship (code: string): Avviso {
  return { campo: 'cittadinanza', messaggio: `La cittadinanza ${code || '(vuota)'} non ha un codice: indicarla` }
}
