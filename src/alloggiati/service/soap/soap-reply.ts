import { SoapFault, SoapTransportError } from './errors.ts'
import type { HttpReply } from './soap-transport.ts'
import { ENVELOPES, readBody, SERVICE, XmlError, type XmlElement } from './xml.ts'

/** Where SOAP 1.1 and 1.2 keep a fault's code and text. */
const CODE_PATHS = ['faultcode', 'Code/Value'] as const
const TEXT_PATHS = ['faultstring', 'Reason/Text'] as const
const CODES_11: Record<string, string> = { Sender: 'Client', Receiver: 'Server' }

/**
 * The text of a reply, and the element in it that answers `operation`.
 * @throws SoapFault for a fault with any HTTP status; SoapTransportError otherwise
 */
export function readReply (
  { status, contentType, body }: HttpReply, operation: string
): { raw: string, answer: XmlElement } {
  const xml = decode(body, contentType)
  const payload = xml === undefined ? undefined : payloadOf(xml)
  const raw = xml ?? body.toString()
  if (payload?.name === 'Fault' && Object.values<string>(ENVELOPES).includes(payload.uri)) {
    const code = textAt(payload, CODE_PATHS).replace(/^.*:/, '')
    throw new SoapFault(CODES_11[code] ?? code, textAt(payload, TEXT_PATHS), { httpStatus: status, raw })
  }
  if (status !== 200) throw new SoapTransportError('http-status', { sent: true, httpStatus: status, raw })
  if (payload?.uri !== SERVICE || payload.name !== `${operation}Response`) throw malformedReply(raw)
  return { raw, answer: payload }
}

export function malformedReply (raw: string, reason?: string): SoapTransportError {
  return new SoapTransportError('malformed', { sent: true, httpStatus: 200, raw, reason })
}

/**
 * The charset of the header, else of the XML declaration, else UTF-8; undefined for bytes that are not of that charset.
 */
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

/** What the Body holds; undefined for anything but an envelope with one element in its Body. */
function payloadOf (xml: string): XmlElement | undefined {
  try {
    return readBody(xml)
  } catch (error) {
    if (error instanceof XmlError) return undefined
    throw error
  }
}

function textAt (fault: XmlElement, paths: readonly string[]): string {
  const found = paths.map((path) => path.split('/').reduce<XmlElement | undefined>(
    (element, name) => element?.children.find((child) => child.name === name), fault))
  return found.find((element) => element !== undefined)?.text.trim() ?? ''
}
