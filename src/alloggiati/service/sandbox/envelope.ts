import { escapeXml, parseXml, XmlError, type XmlElement } from './xml.ts'

type FaultCode = 'Client' | 'Server' | 'MustUnderstand' | 'VersionMismatch'

/** Ends a call with a SOAP fault. The texts are those of an ASP.NET ASMX service, which the real one is. */
export class SoapFault extends Error {
  readonly code: FaultCode

  constructor (code: FaultCode, reason: string) {
    super(reason)
    this.code = code
  }
}

export function unreadable (reason: string): SoapFault {
  return new SoapFault('Client', `Server was unable to read request. ---> ${reason}`)
}

export interface SoapVersion {
  mediaType: 'text/xml' | 'application/soap+xml'
  namespace: string
  renderFault (code: FaultCode, reason: string): string
}

const SENDER_RECEIVER: Partial<Record<FaultCode, string>> = { Client: 'Sender', Server: 'Receiver' }

export const SOAP_11: SoapVersion = {
  mediaType: 'text/xml',
  namespace: 'http://schemas.xmlsoap.org/soap/envelope/',
  renderFault: (code, reason) =>
    `<soap:Fault><faultcode>soap:${code}</faultcode>` +
    `<faultstring>${escapeXml(reason)}</faultstring><detail/></soap:Fault>`
}

export const SOAP_12: SoapVersion = {
  mediaType: 'application/soap+xml',
  namespace: 'http://www.w3.org/2003/05/soap-envelope',
  renderFault: (code, reason) =>
    `<soap:Fault><soap:Code><soap:Value>soap:${SENDER_RECEIVER[code] ?? code}</soap:Value></soap:Code>` +
    `<soap:Reason><soap:Text xml:lang="en">${escapeXml(reason)}</soap:Text></soap:Reason><soap:Detail/></soap:Fault>`
}

/**
 * The one element that a request's Body carries. Throws a `SoapFault` for anything that is not an envelope of this
 * version.
 */
export function readEnvelope (bytes: Uint8Array, version: SoapVersion): XmlElement {
  const envelope = parse(decode(bytes))
  if (envelope.name !== 'Envelope' || envelope.uri !== version.namespace) {
    throw new SoapFault(
      'VersionMismatch',
      `Possible SOAP version mismatch: Envelope namespace ${envelope.uri} was unexpected. ` +
        `Expecting ${version.namespace}.`
    )
  }
  const parts = envelope.children
  const names = parts.map(({ uri, name }) => uri === version.namespace ? name : '?').join(' ')
  const body = parts.at(-1)
  if (body === undefined || !['Body', 'Header Body'].includes(names)) {
    throw unreadable('The Envelope holds an optional Header and one Body.')
  }
  if (parts.length === 2) refuseMandatoryHeaders(parts[0]?.children ?? [], version)
  const [payload, ...others] = body.children
  if (payload === undefined || others.length > 0) throw unreadable('The Body holds exactly one element.')
  return payload
}

export function writeEnvelope (body: string, version: SoapVersion): string {
  return `<?xml version="1.0" encoding="utf-8"?><soap:Envelope xmlns:soap="${version.namespace}" ` +
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema">' +
    `<soap:Body>${body}</soap:Body></soap:Envelope>`
}

function decode (bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw unreadable('The request is not UTF-8.')
  }
}

function parse (source: string): XmlElement {
  try {
    return parseXml(source)
  } catch (error) {
    throw error instanceof XmlError ? unreadable(error.message) : error
  }
}

function refuseMandatoryHeaders (blocks: XmlElement[], version: SoapVersion): void {
  for (const block of blocks) {
    const mandatory = block.attributes.get(`{${version.namespace}}mustUnderstand`)
    if (mandatory === '1' || mandatory === 'true') {
      throw new SoapFault('MustUnderstand', `SOAP header ${block.name} was not understood.`)
    }
  }
}
