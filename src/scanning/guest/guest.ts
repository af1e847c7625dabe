import {
  BIRTH_PLACE_FIELDS, SCANNED_FIELDS, type Avviso, type ParsedMrz, type ScannedGuest
} from '#schemas/scanning.ts'
import { firstDayOf, isBirthDate, isDay } from '#src/lib/time.ts'
import type { BirthPlace, GuestCodes } from './guest-codes-plugin.ts'
import { documentKind, type DocumentKind } from './document-kind.ts'
import { writeFirst } from './holder-notices.ts'

/** Notices for kinds without a police code: `tipo_documento` stays empty. */
const NO_IDENTITY: Partial<Record<DocumentKind, string>> = {
  visa: 'È un visto: tipo, numero e luogo di rilascio si prendono dal passaporto',
  'residence-permit': 'È un permesso di soggiorno, che non è tra i documenti della Polizia: prendere tipo, numero e ' +
    'luogo di rilascio da un documento d’identità, come il passaporto o il titolo di viaggio',
  other: 'Il tipo di documento non si ricava dalla zona: sceglierlo da tipi_documento di GET /api/alloggiati/codici'
}

/** Kinds read from the second letter of the code, which every state could choose freely until 2021. */
const UNSURE: readonly DocumentKind[] = ['diplomatic-passport', 'service-passport', 'refugee-document']

/** The fields of a document. `X` means that it shows neither M nor F. 00 in the birth date means an unknown part. */
interface GuestDocument extends Pick<
  ParsedMrz, 'name' | 'surname' | 'birthDate' | 'docNumber' | 'documentCode' | 'nationality' | 'issuingCountry'
> { gender: ParsedMrz['gender'] | 'X' }

/** Places that a document prints only outside the zone. */
export interface PrintedPlaces { birthPlace?: BirthPlace | undefined, luogo_rilascio?: string | undefined }

/** Converts a document to a guest, with warnings for the host. */
export function guestOf (
  parsed: GuestDocument, codes: GuestCodes, { birthPlace, luogo_rilascio: issued }: PrintedPlaces = {}
): { ospite: ScannedGuest, avvisi: Avviso[] } {
  const kind = documentKind(parsed.documentCode, parsed.issuingCountry)
  const numero = parsed.docNumber.replaceAll('<', '')
  const isIdentity = kind !== 'visa' && kind !== 'residence-permit'
  const fields = {
    ...personOf(parsed),
    cittadinanza: codes.citizenship(parsed.nationality) ?? '',
    tipo_documento: codes.documentType(kind) ?? '',
    numero_documento: isIdentity ? numero : '',
    luogo_rilascio: (isIdentity && (issued ?? codes.placeOfIssue(parsed.issuingCountry))) || ''
  }
  const place = birthPlaceFields(birthPlace)
  const proposti = [...(issued === undefined ? [] : ['luogo_rilascio' as const]), ...place.proposed]
  return {
    ospite: {
      ...fields,
      ...place.fields,
      ...(proposti.length > 0 && { proposti }),
      da_completare: [...SCANNED_FIELDS.filter((name) => isIncomplete(name, fields[name])), ...place.missing]
    },
    avvisi: [
      ...lackNotices(parsed, fields),
      ...documentNotices(kind, parsed.documentCode),
      ...placeNotices({ birthPlace, luogo_rilascio: issued }),
      ...(numero !== parsed.docNumber && isIdentity ? [HIDDEN_PUNCTUATION] : []),
      ...(fields.cittadinanza === '' ? [unknownCitizenship(parsed.nationality)] : [])
    ]
  }
}

/** Whether a field is empty, or a birth date lacks a part. */
function isIncomplete (name: keyof ScannedGuest, value: string): boolean {
  return value === '' || (name === 'data_nascita' && !isDay(value))
}

function personOf ({ name, surname, gender, birthDate }: GuestDocument) {
  return {
    // A single name becomes the surname (ICAO Doc 9303 part 3, 4.6), even if the document prints it as given name.
    nome: surname === '' ? '' : name,
    cognome: surname || name,
    sesso: gender === 'X' ? '' as const : gender,
    data_nascita: isBirthDate(birthDate) ? birthDate : ''
  }
}

/** Notices about a single name, a missing sex and an incomplete birth date. */
function lackNotices (
  { birthDate }: GuestDocument, { nome, cognome, sesso }: Pick<ScannedGuest, 'nome' | 'cognome' | 'sesso'>
): Avviso[] {
  const first = isDay(birthDate) ? undefined : firstDayOf(birthDate)
  return [
    ...(nome === '' && cognome !== '' ? [SINGLE_NAME] : []),
    ...(sesso === '' ? [NO_SEX] : []),
    ...(first === undefined ? [] : [{ campo: 'data_nascita', messaggio: `La data è incompleta: ${writeFirst(first)}` }])
  ]
}

const SINGLE_NAME: Avviso = {
  campo: 'nome',
  messaggio: 'Il documento ha un nome solo, che sta nel cognome. Alla Polizia di norma si ripete anche nel nome'
}
const NO_SEX: Avviso = {
  campo: 'sesso', messaggio: 'Il documento non indica M o F: guardare le altre pagine, o chiedere all’ospite'
}

/** The fields of a proposed birth place. Only Italy needs a comune and a province. */
export function birthPlaceFields (place: BirthPlace | undefined): {
  fields: Partial<Record<(typeof BIRTH_PLACE_FIELDS)[number], string>>
  proposed: readonly (typeof BIRTH_PLACE_FIELDS)[number][]
  missing: readonly (typeof BIRTH_PLACE_FIELDS)[number][]
} {
  if (place === undefined) return { fields: {}, proposed: [], missing: BIRTH_PLACE_FIELDS }
  const { stato, comune, provincia } = place
  if (comune === '') return { fields: { stato_nascita: stato }, proposed: ['stato_nascita'], missing: [] }
  return {
    fields: { stato_nascita: stato, comune_nascita: comune, provincia_nascita: provincia },
    proposed: BIRTH_PLACE_FIELDS,
    missing: []
  }
}

function placeNotices ({ birthPlace, luogo_rilascio: issued }: PrintedPlaces): Avviso[] {
  return [...(birthPlace === undefined ? [] : [proposal(birthPlace)]), ...(issued === undefined ? [] : [ISSUED])]
}

function proposal ({ label, comune }: BirthPlace): Avviso {
  const campo = comune === '' ? 'stato_nascita' : 'comune_nascita'
  return { campo, messaggio: `${label} è proposto dal testo del documento: controllarlo` }
}

const ISSUED: Avviso = {
  campo: 'luogo_rilascio', messaggio: 'Il comune di rilascio è proposto dal testo del documento: controllarlo'
}

/** Fillers inside a number replace blanks and punctuation that a zone cannot contain. */
const HIDDEN_PUNCTUATION: Avviso = {
  campo: 'numero_documento',
  messaggio: 'Il numero ha caratteri che la zona non riporta: confrontarlo con il documento'
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
