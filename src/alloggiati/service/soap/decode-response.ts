import type { Responses, ElencoSchedineEsito, EsitoOperazioneServizio, Operation, TokenInfo } from './contract.ts'
import { SoapTransportError } from './errors.ts'
import type { HttpReply } from './soap-transport.ts'
import { ENVELOPES, readBody, SERVICE, XmlError, type XmlElement } from './xml.ts'

/**
 * Returns the text of a reply, and its element that answers `operation`.
 * @throws SoapTransportError `fault` for a SOAP fault with any HTTP status, another kind for any other invalid reply
 */
export function readReply (
  { status, contentType, body }: HttpReply, operation: string
): { raw: string, response: XmlElement } {
  const xml = decode(body, contentType)
  const payload = xml === undefined ? undefined : payloadOf(xml)
  const raw = xml ?? body.toString()
  if (payload?.name === 'Fault' && Object.values<string>(ENVELOPES).includes(payload.uri)) {
    throw new SoapTransportError('fault', { sent: true, httpStatus: status, raw })
  }
  if (status !== 200) throw new SoapTransportError('http-status', { sent: true, httpStatus: status, raw })
  if (payload?.uri !== SERVICE || payload.name !== `${operation}Response`) throw malformedReply(raw)
  return { raw, response: payload }
}

export function malformedReply (raw: string, reason?: string): SoapTransportError {
  return new SoapTransportError('malformed', { sent: true, httpStatus: 200, raw, reason })
}

/** Decodes by the header's charset, else the XML declaration's, else as UTF-8. Undefined for invalid bytes. */
function decode (body: Buffer, contentType: string): string | undefined {
  const declared =
    /charset\s*=\s*"?([\w-]+)/i.exec(contentType) ??
    /^<\?xml[^>]*\sencoding\s*=\s*["']([\w-]+)/.exec(body.toString('latin1', 0, 200))
  try {
    return new TextDecoder(declared?.[1] ?? 'utf-8', { fatal: true }).decode(body)
  } catch {
    return undefined
  }
}

/** The element in the Body. Undefined unless the text is an envelope with exactly one element. */
function payloadOf (xml: string): XmlElement | undefined {
  try {
    return readBody(xml)
  } catch (error) {
    if (error instanceof XmlError) return undefined
    throw error
  }
}

/** Thrown for a missing, repeated or mistyped element. The message is the element's name, never its value. */
class MalformedElement extends Error {}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(Z|[+-]\d{2}:\d{2})?$/

type Outputs<Name extends Operation> = (response: XmlElement) => Partial<Responses[Name]>

/** The outputs of each operation besides the outcome of the call. */
const OUTPUTS: { [Name in Operation]: Outputs<Name> } = {
  GenerateToken: (response) => ({ GenerateTokenResult: optional(response, 'GenerateTokenResult', tokenInfo) }),
  Authentication_Test: nothing,
  Test: rows,
  Send: rows,
  GestioneAppartamenti_FileUnico_Test: rows,
  GestioneAppartamenti_FileUnico_Send: rows,
  Tabella: (response) => ({ CSV: text(response, 'CSV') }),
  Ricevuta: (response) => ({ PDF: bytes(response, 'PDF') }),
  GestioneAppartamenti_AggiungiAppartamento: nothing,
  GestioneAppartamenti_DisabilitaAppartamento: nothing
}

export const OPERATIONS = Object.keys(OUTPUTS) as Operation[]

/**
 * Decodes the response of an operation.
 * @throws SoapTransportError `malformed`, which names an element that is missing, repeated or mistyped
 */
export function decodeResponse<Name extends Operation> (
  operation: Name, response: XmlElement, raw: string
): Responses[Name] {
  const name = operation === 'GenerateToken' ? 'result' : `${operation}Result`
  try {
    const result = optional(response, name, outcome) ?? malformed(name)
    return { [name]: result, ...OUTPUTS[operation](response) } as Responses[Name]
  } catch (error) {
    throw error instanceof MalformedElement ? malformedReply(raw, error.message) : error
  }
}

function nothing (): object {
  return {}
}

function outcome (element: XmlElement): EsitoOperazioneServizio {
  return {
    esito: boolean(element, 'esito'),
    ErroreCod: text(element, 'ErroreCod'),
    ErroreDes: text(element, 'ErroreDes'),
    ErroreDettaglio: text(element, 'ErroreDettaglio')
  }
}

function rows (response: XmlElement): { result?: ElencoSchedineEsito } {
  return {
    result: optional(response, 'result', (element) => ({
      SchedineValide: integer(element, 'SchedineValide'),
      Dettaglio: optional(element, 'Dettaglio', details) ?? []
    }))
  }
}

function details ({ children }: XmlElement): EsitoOperazioneServizio[] {
  return children.map((row) => row.name === 'EsitoOperazioneServizio' ? outcome(row) : malformed('Dettaglio'))
}

function tokenInfo (element: XmlElement): TokenInfo {
  return { issued: instant(element, 'issued'), expires: instant(element, 'expires'), token: text(element, 'token') }
}

/** Undefined for an element that is missing or empty. */
function optional<T> (parent: XmlElement, name: string, read: (element: XmlElement) => T): T | undefined {
  const element = child(parent, name)
  return element === undefined || element.children.length === 0 ? undefined : read(element)
}

function child ({ children }: XmlElement, name: string): XmlElement | undefined {
  const [element, ...others] = children.filter((each) => each.name === name)
  return others.length > 0 ? malformed(name) : element
}

function text (parent: XmlElement, name: string): string {
  const element = child(parent, name)
  return element && element.children.length > 0 ? malformed(name) : element?.text ?? ''
}

function boolean (parent: XmlElement, name: string): boolean {
  const value = text(parent, name).trim()
  if (value === 'true' || value === '1') return true
  return value === 'false' || value === '0' ? false : malformed(name)
}

function integer (parent: XmlElement, name: string): number {
  const value = text(parent, name).trim()
  return /^\d{1,9}$/.test(value) ? Number(value) : malformed(name)
}

/** Reads an instant without offset as Rome's summer time. In winter a token is then renewed early, never too late. */
function instant (parent: XmlElement, name: string): Date {
  const value = text(parent, name).trim()
  const match = DATE_TIME.exec(value)
  const date = new Date(match?.[1] === undefined ? `${value}+02:00` : value)
  return match === null || Number.isNaN(date.getTime()) ? malformed(name) : date
}

function bytes (parent: XmlElement, name: string): Buffer | undefined {
  const value = text(parent, name).replace(/\s+/g, '')
  if (!BASE64.test(value)) malformed(name)
  return value === '' ? undefined : Buffer.from(value, 'base64')
}

function malformed (name: string): never {
  throw new MalformedElement(name)
}
