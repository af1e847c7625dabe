import { APARTMENT_IDS } from '#schemas/apartment.ts'

/**
 * The police record: one guest, one line of fixed width. Codec, tests and benchmark derive the columns from this table.
 * Source: "Manuale Web Service Alloggiati" and "Guida al servizio", record layout ("tracciato record"). Both agree.
 */

const DIGITS = '0123456789'
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'

/** Text of the characters `chars`. With `exact` it fills its field, otherwise it is padded with blanks. */
export interface TextKind { type: 'text', chars: string, exact: boolean, rule: string }
/** An integer from `min` to `max`, zero-padded. */
export interface IntegerKind { type: 'integer', min: number, max: number, rule: string }
/** A calendar day: YYYY-MM-DD in the record, DD/MM/YYYY on the line. */
interface DayKind { type: 'day', rule: string }
/** M or F in the record, the given character on the line. */
export interface SexKind { type: 'sex', M: string, F: string, rule: string }
/** The content type of a field. `rule` completes the sentence "Il campo …" in the host's error message. */
type Kind = TextKind | IntegerKind | DayKind | SexKind

export interface Field {
  name: string
  /** First column, 1-based as in the manuals. */
  start: number
  length: number
  kind: Kind
  /** Whether every guest type requires the field. The rules decide for the other fields. */
  required: boolean
  /** The number and title of the field in the manuals. */
  source: string
}

/** Maximum nights of one schedina. A longer stay needs another schedina after these nights (guide p. 7). */
export const MAX_DECLARED_NIGHTS = 30

/** Lets TypeScript infer the literal types of a kind. */
const kind = <const Of extends Kind>(of: Of): Of => of

const wholeNumber = (min: number, max: number) => `deve essere un numero intero da ${min} a ${max}`

const code = kind({
  type: 'text', chars: DIGITS, exact: true, rule: 'deve avere una cifra in ogni posizione'
})
const day = kind({ type: 'day', rule: 'deve essere una data che esiste' })
const nights = kind({ type: 'integer', min: 1, max: MAX_DECLARED_NIGHTS, rule: wholeNumber(1, MAX_DECLARED_NIGHTS) })
// The manuals specify no character set. The real service refuses digits, hyphens, dots and accents in names.
const name = kind({
  type: 'text', chars: `${LETTERS} '`, exact: false, rule: 'ammette solo lettere A-Z, apostrofi e spazi interni'
})
const sex = kind({ type: 'sex', M: '1', F: '2', rule: 'deve essere M (1) o F (2)' })
const plate = kind({ type: 'text', chars: LETTERS, exact: true, rule: 'deve avere due lettere A-Z' })
const documentCode = kind({
  type: 'text', chars: LETTERS + DIGITS, exact: true, rule: 'deve avere cinque lettere A-Z o cifre'
})
const documentNumber = kind({
  type: 'text', chars: `${LETTERS}${DIGITS}-./`, exact: false, rule: 'ammette solo lettere A-Z, cifre e i segni - . /'
})
// The manual does not define the padding, but its samples show zeros.
const apartment = kind({
  type: 'integer',
  min: APARTMENT_IDS.minimum,
  max: APARTMENT_IDS.maximum,
  rule: wholeNumber(APARTMENT_IDS.minimum, APARTMENT_IDS.maximum)
})

/** The fields of an ordinary record, in order. */
export const LAYOUT = [
  { name: 'tipo_alloggiato', start: 1, length: 2, kind: code, required: true, source: '1 Tipo alloggiato' },
  { name: 'data_arrivo', start: 3, length: 10, kind: day, required: true, source: '2 Data arrivo, gg/mm/aaaa' },
  { name: 'permanenza', start: 13, length: 2, kind: nights, required: true, source: '3 Giorni di permanenza' },
  { name: 'cognome', start: 15, length: 50, kind: name, required: true, source: '4 Cognome' },
  { name: 'nome', start: 65, length: 30, kind: name, required: true, source: '5 Nome' },
  { name: 'sesso', start: 95, length: 1, kind: sex, required: true, source: '6 Sesso, 1 M, 2 F' },
  { name: 'data_nascita', start: 96, length: 10, kind: day, required: true, source: '7 Data nascita, gg/mm/aaaa' },
  { name: 'comune_nascita', start: 106, length: 9, kind: code, required: false, source: '8 Comune nascita' },
  { name: 'provincia', start: 115, length: 2, kind: plate, required: false, source: '9 Provincia nascita' },
  { name: 'stato_nascita', start: 117, length: 9, kind: code, required: true, source: '10 Stato nascita' },
  { name: 'cittadinanza', start: 126, length: 9, kind: code, required: true, source: '11 Cittadinanza' },
  { name: 'tipo_doc', start: 135, length: 5, kind: documentCode, required: false, source: '12 Tipo documento' },
  { name: 'num_doc', start: 140, length: 20, kind: documentNumber, required: false, source: '13 Numero documento' },
  { name: 'luogo_rilascio', start: 160, length: 9, kind: code, required: false, source: '14 Luogo rilascio documento' }
] as const satisfies readonly Field[]

/** The fields of a "File Unico" record, for accounts that manage apartments. */
export const LAYOUT_FILE_UNICO = [
  ...LAYOUT,
  { name: 'id_appartamento', start: 169, length: 6, kind: apartment, required: true, source: '15 IdAppartamento' }
] as const satisfies readonly Field[]

/** Characters of an ordinary record, without the line end. */
export const LENGTH = 168

/** Characters of a "File Unico" record, without the line end. */
export const LENGTH_FILE_UNICO = 174

export type LayoutField = (typeof LAYOUT_FILE_UNICO)[number]
export type FieldName = LayoutField['name']

export const FIELDS = Object.fromEntries(LAYOUT_FILE_UNICO.map((field) => [field.name, field])) as
  { [Of in LayoutField as Of['name']]: Of }

type ValueOf<Of extends Kind> = Of extends IntegerKind ? number : Of extends SexKind ? 'M' | 'F' : string
type Values<Of extends Field> = { [Each in Of as Each['name']]: ValueOf<Each['kind']> }

/** A guest's record, field by field. `''` is a blank field. Only "File Unico" records have `id_appartamento`. */
export type RecordSchedina = Values<(typeof LAYOUT)[number]> & Partial<Values<LayoutField>>
