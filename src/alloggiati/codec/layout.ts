/**
 * The police record: one guest, one line of fixed width. Codec, tests and benchmark derive everything from this table.
 * Source: "Manuale Web Service Alloggiati" and "Guida al servizio", record layout ("tracciato record"); both agree.
 */

const DIGITS = '0123456789'
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'

/** Text made of `chars`. With `exact` it fills the whole width; otherwise it is left-aligned, without blanks at its ends. */
export interface TextKind { type: 'text', chars: string, exact: boolean, rule: string }
/** A whole number from `min` to `max`, written with zeros in front. */
export interface IntegerKind { type: 'integer', min: number, max: number, rule: string }
/** A calendar day: YYYY-MM-DD in the record, DD/MM/YYYY on the line. */
export interface DayKind { type: 'day', rule: string }
/** M or F in the record, the given character on the line. */
export interface SexKind { type: 'sex', M: string, F: string, rule: string }
/** What a field may hold; `rule` says it to the host, after "Il campo". */
export type Kind = TextKind | IntegerKind | DayKind | SexKind

export interface Field {
  name: string
  /** First column, counted from 1 as the manuals do. */
  start: number
  length: number
  kind: Kind
  /** Whether all guest types carry it. Which of them need the others is a matter of the rules, not of the layout. */
  required: boolean
  /** Number and words of the field in the manuals. */
  source: string
}

const digits = { type: 'text', chars: DIGITS, exact: true, rule: 'deve avere solo cifre, tante quante la sua lunghezza' } as const satisfies Kind
const day = { type: 'day', rule: 'deve essere una data che esiste' } as const satisfies Kind
const nights = { type: 'integer', min: 1, max: 30, rule: 'deve essere un numero intero da 1 a 30' } as const satisfies Kind
// The manuals name no character set; digits, hyphens, dots and accents are known to be refused as "caratteri non validi".
const name = { type: 'text', chars: `${LETTERS} '`, exact: false, rule: 'ammette solo lettere A-Z, apostrofi e spazi interni' } as const satisfies Kind
const sex = { type: 'sex', M: '1', F: '2', rule: 'deve essere M (1) o F (2)' } as const satisfies Kind
const plate = { type: 'text', chars: LETTERS, exact: true, rule: 'deve avere due lettere A-Z' } as const satisfies Kind
const documentCode = { type: 'text', chars: LETTERS + DIGITS, exact: true, rule: 'deve avere cinque lettere A-Z o cifre' } as const satisfies Kind
const documentNumber = { type: 'text', chars: `${LETTERS}${DIGITS}-./`, exact: false, rule: 'ammette solo lettere A-Z, cifre e i segni - . /' } as const satisfies Kind
// Identifiers start at 0. Their padding is not stated; the manual's samples show zeros.
const apartment = { type: 'integer', min: 0, max: 999_999, rule: 'deve essere un numero intero da 0 a 999999' } as const satisfies Kind

/** The fields in order. The last one exists only in the "File Unico" of accounts that manage apartments. */
export const LAYOUT = [
  { name: 'tipo_alloggiato', start: 1, length: 2, kind: digits, required: true, source: '1 Tipo alloggiato' },
  { name: 'data_arrivo', start: 3, length: 10, kind: day, required: true, source: '2 Data arrivo, gg/mm/aaaa' },
  { name: 'permanenza', start: 13, length: 2, kind: nights, required: true, source: '3 Giorni di permanenza, massimo 30' },
  { name: 'cognome', start: 15, length: 50, kind: name, required: true, source: '4 Cognome' },
  { name: 'nome', start: 65, length: 30, kind: name, required: true, source: '5 Nome' },
  { name: 'sesso', start: 95, length: 1, kind: sex, required: true, source: '6 Sesso, 1 M, 2 F' },
  { name: 'data_nascita', start: 96, length: 10, kind: day, required: true, source: '7 Data nascita, gg/mm/aaaa' },
  { name: 'comune_nascita', start: 106, length: 9, kind: digits, required: false, source: '8 Comune nascita, se in Italia' },
  { name: 'provincia', start: 115, length: 2, kind: plate, required: false, source: '9 Provincia nascita, se in Italia' },
  { name: 'stato_nascita', start: 117, length: 9, kind: digits, required: true, source: '10 Stato nascita' },
  { name: 'cittadinanza', start: 126, length: 9, kind: digits, required: true, source: '11 Cittadinanza' },
  { name: 'tipo_doc', start: 135, length: 5, kind: documentCode, required: false, source: '12 Tipo documento, non per 19 e 20' },
  { name: 'num_doc', start: 140, length: 20, kind: documentNumber, required: false, source: '13 Numero documento, non per 19 e 20' },
  { name: 'luogo_rilascio', start: 160, length: 9, kind: digits, required: false, source: '14 Luogo rilascio documento, non per 19 e 20' },
  { name: 'id_appartamento', start: 169, length: 6, kind: apartment, required: true, source: '15 IdAppartamento, solo File Unico' }
] as const satisfies readonly Field[]

export type LayoutField = (typeof LAYOUT)[number]
export type FieldName = LayoutField['name']

/** Characters of an ordinary record, without line end. */
export const LENGTH = 168

/** Characters of a "File Unico" record, without line end. */
export const LENGTH_FILE_UNICO = 174
