import type { Answers, ElencoSchedineEsito, EsitoOperazioneServizio, Operation, TokenInfo } from './contract.ts'

/** A reply that is not of the type that the WSDL promises. The message names the element, never its value. */
export class MalformedAnswer extends Error {}

type Elements = Record<string, unknown>

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(Z|[+-]\d{2}:\d{2})?$/

type Outputs<Name extends Operation> = (elements: Elements) => Partial<Answers[Name]>

/** What each operation answers beside the outcome of the call. */
const OUTPUTS: { [Name in Operation]: Outputs<Name> } = {
  GenerateToken: (elements) => ({ GenerateTokenResult: optional(elements, 'GenerateTokenResult', tokenInfo) }),
  Authentication_Test: nothing,
  Test: rows,
  Send: rows,
  GestioneAppartamenti_Test: rows,
  GestioneAppartamenti_Send: rows,
  GestioneAppartamenti_FileUnico_Test: rows,
  GestioneAppartamenti_FileUnico_Send: rows,
  Tabella: (elements) => ({ CSV: text(elements, 'CSV') }),
  Ricevuta: (elements) => ({ PDF: bytes(elements, 'PDF') }),
  GestioneAppartamenti_AggiungiAppartamento: nothing,
  GestioneAppartamenti_DisabilitaAppartamento: nothing
}

export const OPERATIONS = Object.keys(OUTPUTS) as Operation[]

/**
 * The typed answer of an operation.
 * @throws MalformedAnswer when an element is missing, repeated or not of its type
 */
export function decodeAnswer<Name extends Operation> (operation: Name, result: unknown): Answers[Name] {
  const elements = children(result, `${operation}Response`)
  const name = operation === 'GenerateToken' ? 'result' : `${operation}Result`
  const outputs: Partial<Answers[Name]> = OUTPUTS[operation](elements)
  return { [name]: outcome(elements[name], name), ...outputs } as Answers[Name]
}

function nothing (): object {
  return {}
}

function outcome (value: unknown, name: string): EsitoOperazioneServizio {
  const elements = children(value, name)
  return {
    esito: boolean(elements, 'esito'),
    ErroreCod: text(elements, 'ErroreCod'),
    ErroreDes: text(elements, 'ErroreDes'),
    ErroreDettaglio: text(elements, 'ErroreDettaglio')
  }
}

function rows (parent: Elements): { result?: ElencoSchedineEsito } {
  return {
    result: optional(parent, 'result', (elements) => ({
      SchedineValide: integer(elements, 'SchedineValide'),
      Dettaglio: details(elements)
    }))
  }
}

function details (parent: Elements): EsitoOperazioneServizio[] {
  const list = optional(parent, 'Dettaglio', (elements) => elements.EsitoOperazioneServizio) ?? []
  return Array.isArray(list) ? list.map((item) => outcome(item, 'EsitoOperazioneServizio')) : malformed('Dettaglio')
}

function tokenInfo (elements: Elements): TokenInfo {
  return { issued: instant(elements, 'issued'), expires: instant(elements, 'expires'), token: text(elements, 'token') }
}

function optional<T> (parent: Elements, name: string, read: (elements: Elements) => T): T | undefined {
  // strong-soap has `null` for an element without content.
  return parent[name] === undefined || parent[name] === null ? undefined : read(children(parent[name], name))
}

function children (value: unknown, name: string): Elements {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return malformed(name)
  return { ...value }
}

function text (parent: Elements, name: string): string {
  const value = parent[name] ?? ''
  return typeof value === 'string' ? value : malformed(name)
}

function boolean (parent: Elements, name: string): boolean {
  const value = text(parent, name)
  if (value === 'true' || value === '1') return true
  return value === 'false' || value === '0' ? false : malformed(name)
}

function integer (parent: Elements, name: string): number {
  const value = text(parent, name)
  return /^\d{1,9}$/.test(value) ? Number(value) : malformed(name)
}

/** An instant without zone is read with the offset of Rome's summer: a token is then renewed early, never too late. */
function instant (parent: Elements, name: string): Date {
  const value = text(parent, name)
  const match = DATE_TIME.exec(value)
  const date = new Date(match?.[1] === undefined ? `${value}+02:00` : value)
  return match === null || Number.isNaN(date.getTime()) ? malformed(name) : date
}

function bytes (parent: Elements, name: string): Buffer | undefined {
  const value = text(parent, name).replace(/\s+/g, '')
  if (!BASE64.test(value)) malformed(name)
  return value === '' ? undefined : Buffer.from(value, 'base64')
}

function malformed (name: string): never {
  throw new MalformedAnswer(name)
}
