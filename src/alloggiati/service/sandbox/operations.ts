import { randomBytes } from 'node:crypto'
import type { Database } from '#src/database/connect.ts'
import { addDays, dayInRome, type Clock } from '#src/lib/time.ts'
import type { Tables } from '../../tables/code-tables.ts'
import type { EsitoOperazioneServizio } from '../soap/contract.ts'
import type { XmlElement } from '../soap/xml.ts'
import { DONE, refused, TABLES } from './sandbox-codes.ts'
import { drawReceipt } from './receipt.ts'
import { FILE_UNICO_ROW_LENGTH, ROW_LENGTH, checkRows, type Comparison } from './check-rows.ts'
import {
  acquire, activeApartments, addApartment, dayTotals, disableApartment, isTokenValid, storeToken
} from './sandbox-store.ts'

/** The parts of the sandbox that its operations use. */
export interface Parts {
  db: Database
  clock: Clock
  credentials: { utente: string, password: string, wskey: string }
  tables (): Tables
}

/** The content of a response's element: text, or child elements in the order of the WSDL. */
export type Value = string | number | boolean | Buffer | Elements
interface Elements { [name: string]: Value | readonly Value[] | undefined }

/** The texts of a request by element name, and the rows of its list. Each text may be missing. */
interface Request { texts: Readonly<Record<string, string | undefined>>, rows: readonly string[] }

type Outcome = [result: EsitoOperazioneServizio, outputs?: Elements]
type Work = (request: Request, parts: Parts, utente: string) => Promise<Outcome>

/** The lifetime in the example of the manual. */
const TOKEN_LIFE_MS = 3_600_000
/** The limit of the file upload on the portal. The limit of the web service is unknown. */
const MAX_ROWS = 1_000
const RECEIPT_DAYS = 30
const MAX_TEXT = 200
/** A further account with this password is refused, so that hosts and tests can see a refused login. */
const REFUSED_PASSWORD = 'sbagliata'

const WORK: Record<string, Work> = {
  Authentication_Test: async () => [DONE],
  Test: submission(ROW_LENGTH, false),
  Send: submission(ROW_LENGTH, true),
  GestioneAppartamenti_FileUnico_Test: submission(FILE_UNICO_ROW_LENGTH, false),
  GestioneAppartamenti_FileUnico_Send: submission(FILE_UNICO_ROW_LENGTH, true),
  Tabella: table,
  Ricevuta: receipt,
  GestioneAppartamenti_AggiungiAppartamento: add,
  GestioneAppartamenti_DisabilitaAppartamento: disable
}

export function isOperation (name: string): boolean {
  return name === 'GenerateToken' || Object.hasOwn(WORK, name)
}

/** Performs one operation with the elements of its request, and returns its response. */
export async function perform (
  operation: string, elements: readonly XmlElement[], parts: Parts
): Promise<Elements> {
  const texts = Object.fromEntries(elements.map(({ name, text }) => [name, text]))
  if (operation === 'GenerateToken') return await generateToken(texts, parts)
  const rows = elements.find(({ name }) => name === 'ElencoSchedine')?.children.map(({ text }) => text) ?? []
  const { Utente: utente = '', token = '' } = texts
  const [outcome, outputs] = await isTokenValid(parts.db, token, utente, parts.clock.now())
    ? await WORK[operation]!({ texts, rows }, parts, utente)
    : [refused('token', 'Token non valido o scaduto')]
  return { [`${operation}Result`]: { ...outcome }, ...outputs }
}

async function generateToken (
  { Utente: utente, Password, WsKey }: Request['texts'], { db, clock, credentials }: Parts
): Promise<Elements> {
  const isAccepted = utente === credentials.utente
    ? Password === credentials.password && WsKey === credentials.wskey
    : Password !== undefined && WsKey !== undefined && Password !== REFUSED_PASSWORD
  if (utente === undefined || !isAccepted) {
    return { result: { ...refused('credentials', 'Utente, password o chiave web service non validi') } }
  }
  const token = randomBytes(32).toString('base64url')
  const now = clock.now()
  const expires = new Date(now.getTime() + TOKEN_LIFE_MS)
  await storeToken(db, { token, utente, scade_il: expires.toISOString() }, now)
  const result = { ...DONE }
  return { GenerateTokenResult: { issued: romeDateTime(now), expires: romeDateTime(expires), token }, result }
}

function submission (rowLength: Comparison['rowLength'], acquires: boolean): Work {
  return async ({ rows }, { db, clock, tables }, utente) => {
    if (rows.length === 0) return [refused('parameter', 'Elenco Schedine Vuoto')]
    if (rows.length > MAX_ROWS) return [refused('parameter', `Elenco Schedine con piu' di ${MAX_ROWS} righe`)]
    const apartments = new Set((await activeApartments(db, utente)).map(({ id }) => id))
    const giorno = clock.today()
    const responses = checkRows(rows, { rowLength, tables: tables(), today: giorno, apartments })
    const acceptedRows = responses.flatMap(({ accepted }) => accepted ?? [])
    if (acquires) {
      const common = { utente, giorno, acquisita_il: clock.now().toISOString() }
      await acquire(db, acceptedRows.map((row) => ({ ...common, ...row })))
    }
    const Dettaglio = { EsitoOperazioneServizio: responses.map(({ outcome }) => ({ ...outcome })) }
    return [DONE, { result: { SchedineValide: acceptedRows.length, Dettaglio } }]
  }
}

async function table ({ texts: { tipo = '' } }: Request, { db, tables }: Parts, utente: string): Promise<Outcome> {
  const csvOf = Object.hasOwn(TABLES, tipo) ? TABLES[tipo] : undefined
  if (csvOf === undefined) return [refused('parameter', 'Tipo Tabella Errato')]
  return [DONE, { CSV: csvOf(tables(), await activeApartments(db, utente)) }]
}

async function receipt ({ texts: { Data = '' } }: Request, { db, clock }: Parts, utente: string): Promise<Outcome> {
  // A dateTime without offset is a time in Rome. A dateTime with an offset is an instant.
  const day = /(?:Z|[+-]\d\d:\d\d)$/.test(Data) ? dayInRome(new Date(Data)) : Data.slice(0, 10)
  const today = clock.today()
  const totals = day < today && day >= addDays(today, -RECEIPT_DAYS) ? await dayTotals(db, utente, day) : undefined
  if (!totals) return [refused('receipt', 'Ricevuta non disponibile per la data richiesta')]
  return [DONE, { PDF: await drawReceipt(utente, day, totals) }]
}

async function add ({ texts }: Request, { db, tables }: Parts, utente: string): Promise<Outcome> {
  const given = [texts.Descrizione, texts.Indirizzo, texts.Proprietario].map((text = '') => text.trim().toUpperCase())
  const [descrizione = '', indirizzo = '', proprietario = ''] = given
  // A semicolon or line break would corrupt the apartment table, a CSV without quotes.
  const isBad = (text: string) => text === '' || text.length > MAX_TEXT || /[;\r\n]/.test(text)
  if (given.some(isBad)) return [refused('parameter', "Dati dell'appartamento errati")]
  const comune_codice = texts.ComuneCodice ?? ''
  if (tables().comune(comune_codice)?.cessato_il !== null) return [refused('parameter', 'Codice Comune Errato')]
  await addApartment(db, utente, { descrizione, comune_codice, indirizzo, proprietario })
  return [DONE]
}

async function disable (
  { texts: { IdAppartamento: id = '' } }: Request, { db, clock }: Parts, utente: string
): Promise<Outcome> {
  const isDisabled = /^\d{1,6}$/.test(id) && await disableApartment(db, utente, Number(id), clock.now())
  return [isDisabled ? DONE : refused('parameter', 'Id Appartamento Errato')]
}

const romeFields = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'Europe/Rome',
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  timeZoneName: 'longOffset'
})

/** An instant in the format of a local .NET dateTime: Rome's time, seven decimals, `+01:00` or `+02:00`. */
function romeDateTime (instant: Date): string {
  const part = Object.fromEntries(romeFields.formatToParts(instant).map(({ type, value }) => [type, value]))
  const offset = part.timeZoneName?.replace('GMT', '')
  const date = `${part.year}-${part.month}-${part.day}`
  const time = `${part.hour}:${part.minute}:${part.second}.${part.fractionalSecond}0000`
  return `${date}T${time}${offset}`
}
