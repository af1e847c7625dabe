import { randomBytes } from 'node:crypto'
import type { Database } from '#src/database/connect.ts'
import { addDays, dayInRome, type Clock } from '#src/lib/time.ts'
import { TABLES, type Codes, DONE, refused, type ServiceOutcome } from './sandbox-codes.ts'
import type { Message } from './message.ts'
import { drawReceipt } from './receipt.ts'
import { FILE_UNICO_ROW_LENGTH, ROW_LENGTH, checkRows, type Comparison } from './check-rows.ts'
import {
  acquire, activeApartments, addApartment, dayTotals, disableApartment, isTokenGood, keepToken
} from './sandbox-store.ts'

export interface Service {
  db: Database
  clock: Clock
  credentials: { utente: string, password: string, wskey: string }
  codes (): Promise<Codes>
}

/**
 * A request as the WSDL's reading leaves it: the types are right, required elements are there, everything else may be
 * missing.
 */
interface Request {
  Utente?: string
  Password?: string
  WsKey?: string
  token?: string
  ElencoSchedine?: Array<string | null>
  IdAppartamento?: number
  tipo?: string
  Data?: string
  Descrizione?: string
  ComuneCodice?: string
  Indirizzo?: string
  Proprietario?: string
}

type Answer = [outcome: ServiceOutcome, outputs?: Message]
type Work = (request: Request, service: Service, utente: string) => Promise<Answer>

/** As long as in the manual's example. */
const TOKEN_LIFE_MS = 3_600_000
/** The limit of the file upload; that of the web service is not known. */
const MAX_ROWS = 1_000
const RECEIPT_DAYS = 30
const MAX_TEXT = 200

const OPERATIONS: Record<string, Work> = {
  Authentication_Test: async () => [DONE],
  Test: submission({ rowLength: ROW_LENGTH, acquires: false }),
  Send: submission({ rowLength: ROW_LENGTH, acquires: true }),
  GestioneAppartamenti_Test: submission({ rowLength: ROW_LENGTH, acquires: false }),
  GestioneAppartamenti_Send: submission({ rowLength: ROW_LENGTH, acquires: true }),
  GestioneAppartamenti_FileUnico_Test: submission({ rowLength: FILE_UNICO_ROW_LENGTH, acquires: false }),
  GestioneAppartamenti_FileUnico_Send: submission({ rowLength: FILE_UNICO_ROW_LENGTH, acquires: true }),
  Tabella: table,
  Ricevuta: receipt,
  GestioneAppartamenti_AggiungiAppartamento: add,
  GestioneAppartamenti_DisabilitaAppartamento: disable
}

/** Carries out one operation and gives its response. `message` has been read by the WSDL. */
export async function perform (name: string, message: Message, service: Service): Promise<Message> {
  const request = message as Request
  if (name === 'GenerateToken') return await generateToken(request, service)
  const work = OPERATIONS[name]
  if (!work) throw new Error(`Operation ${name} is not implemented`)
  const { Utente: utente = '', token = '' } = request
  const [outcome, outputs] = await isTokenGood(service.db, token, utente, service.clock.now())
    ? await work(request, service, utente)
    : [refused('token', 'Token non valido o scaduto')]
  return { [`${name}Result`]: outcome, ...outputs }
}

async function generateToken (
  { Utente: utente, Password, WsKey }: Request, { db, clock, credentials }: Service
): Promise<Message> {
  if (utente !== credentials.utente || Password !== credentials.password || WsKey !== credentials.wskey) {
    return { result: refused('credentials', 'Utente, password o chiave web service non validi') }
  }
  const token = randomBytes(32).toString('base64url')
  const now = clock.now()
  const expires = new Date(now.getTime() + TOKEN_LIFE_MS)
  await keepToken(db, { token, utente, expires, now })
  return { GenerateTokenResult: { issued: romeDateTime(now), expires: romeDateTime(expires), token }, result: DONE }
}

function submission ({ rowLength, acquires }: { rowLength: Comparison['rowLength'], acquires: boolean }): Work {
  return async ({ ElencoSchedine: rows = [], IdAppartamento }, { db, clock, codes }, utente) => {
    if (rows.length === 0) return [refused('parameter', 'Elenco Schedine Vuoto')]
    if (rows.length > MAX_ROWS) return [refused('parameter', `Elenco Schedine con piu' di ${MAX_ROWS} righe`)]
    const apartments = new Set((await activeApartments(db, utente)).map(({ id }) => id))
    if (IdAppartamento !== undefined && !apartments.has(IdAppartamento)) {
      return [refused('parameter', 'Id Appartamento Errato')]
    }
    const giorno = clock.today()
    const answers = checkRows(rows, { rowLength, codes: await codes(), today: giorno, apartments })
    const good = answers.flatMap(({ accepted }) => accepted ?? [])
    if (acquires) {
      const common = {
        utente,
        giorno,
        acquisita_il: clock.now().toISOString(),
        id_appartamento: IdAppartamento ?? null
      }
      await acquire(db, good.map((row) => ({ ...common, ...row })))
    }
    return [DONE, { result: { SchedineValide: good.length, Dettaglio: answers.map(({ outcome }) => outcome) } }]
  }
}

async function table ({ tipo = '' }: Request, { db, codes }: Service, utente: string): Promise<Answer> {
  return [DONE, { CSV: TABLES[tipo]?.(await codes(), await activeApartments(db, utente)) }]
}

async function receipt ({ Data = '' }: Request, { db, clock }: Service, utente: string): Promise<Answer> {
  // A bare date and time is Italian; one with an offset is an instant.
  const day = /(?:Z|[+-]\d\d:\d\d)$/.test(Data) ? dayInRome(new Date(Data)) : Data.slice(0, 10)
  const today = clock.today()
  const totals = day < today && day >= addDays(today, -RECEIPT_DAYS) ? await dayTotals(db, utente, day) : undefined
  if (!totals) return [refused('receipt', 'Ricevuta non disponibile per la data richiesta')]
  return [DONE, { PDF: await drawReceipt(utente, day, totals) }]
}

async function add (request: Request, { db, codes }: Service, utente: string): Promise<Answer> {
  const texts = [request.Descrizione, request.Indirizzo, request.Proprietario].map((text) =>
    (text ?? '').trim().toUpperCase()
  )
  const [descrizione = '', indirizzo = '', proprietario = ''] = texts
  // A semicolon or a line break would break the list of apartments, which is a CSV without quotes.
  const isBad = (text: string) => text === '' || text.length > MAX_TEXT || /[;\r\n]/.test(text)
  if (texts.some(isBad)) return [refused('parameter', "Dati dell'appartamento errati")]
  const comune_codice = request.ComuneCodice ?? ''
  const comune = (await codes()).comuni.get(comune_codice)
  if (!comune || comune.ended !== undefined) return [refused('parameter', 'Codice Comune Errato')]
  await addApartment(db, utente, { descrizione, comune_codice, indirizzo, proprietario })
  return [DONE]
}

async function disable ({ IdAppartamento = -1 }: Request, { db, clock }: Service, utente: string): Promise<Answer> {
  const isDisabled = await disableApartment(db, utente, IdAppartamento, clock.now())
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

/** An instant as .NET writes a local dateTime: Rome's wall clock, seven decimals, `+01:00` or `+02:00`. */
function romeDateTime (instant: Date): string {
  const part = Object.fromEntries(romeFields.formatToParts(instant).map(({ type, value }) => [type, value]))
  const offset = part.timeZoneName?.replace('GMT', '')
  const date = `${part.year}-${part.month}-${part.day}`
  const time = `${part.hour}:${part.minute}:${part.second}.${part.fractionalSecond}0000`
  return `${date}T${time}${offset}`
}
