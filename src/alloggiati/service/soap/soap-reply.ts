import { SoapTransportError } from './errors.ts'
import type { HttpReply } from './soap-transport.ts'
import { ENVELOPES, readBody, SERVICE, XmlError, type XmlElement } from './xml.ts'

/**
 * The text of a reply, and the element in it that answers `operation`.
 * @throws SoapTransportError `fault` for one with any HTTP status; another kind for what is no answer
 */
export function readReply (
  { status, contentType, body }: HttpReply, operation: string
): { raw: string, answer: XmlElement } {
  const xml = decode(body, contentType)
  const payload = xml === undefined ? undefined : payloadOf(xml)
  const raw = xml ?? body.toString()
  if (payload?.name === 'Fault' && Object.values<string>(ENVELOPES).includes(payload.uri)) {
    throw new SoapTransportError('fault', { sent: true, httpStatus: status, raw })
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
