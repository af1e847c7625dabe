import { SaxesParser } from 'saxes'

/* The XML of the service, which the client and the sandbox read and write. */

/* Limits of a document. A request or reply with a thousand rows stays below them. */
const MAX_DEPTH = 32
const MAX_ELEMENTS = 20_000

export interface XmlElement {
  /** Namespace URI. Empty if the element has none. */
  uri: string
  name: string
  children: XmlElement[]
  /** The direct character data, untrimmed. */
  text: string
}

/** The document is not well-formed, uses XML that SOAP forbids, or is not an envelope. */
export class XmlError extends Error {}

/** The namespace of the service's own elements. */
export const SERVICE = 'AlloggiatiService'

/** The namespace of the envelope by SOAP version. */
export const ENVELOPES = {
  1.1: 'http://schemas.xmlsoap.org/soap/envelope/',
  1.2: 'http://www.w3.org/2003/05/soap-envelope'
} as const

/**
 * Returns the only element in the Body of an envelope of either version.
 * @throws XmlError
 */
export function readBody (xml: string): XmlElement {
  const envelope = parseXml(xml)
  const bodies = envelope.children.filter(({ name }) => name === 'Body')
  const isEnvelope = envelope.name === 'Envelope' && Object.values<string>(ENVELOPES).includes(envelope.uri)
  if (!isEnvelope || bodies.length !== 1 || bodies[0]!.uri !== envelope.uri) {
    throw new XmlError('An Envelope with one Body was expected.')
  }
  const [payload, ...others] = bodies[0]!.children
  if (payload === undefined || others.length > 0) throw new XmlError('The Body must contain exactly one element.')
  return payload
}

/**
 * Parses a document and returns its root element. Refuses DOCTYPE and processing instructions (SOAP 1.1 §3), so that no
 * entity can be declared.
 */
function parseXml (source: string): XmlElement {
  const parser = new SaxesParser({ xmlns: true, forceXMLVersion: true, defaultXMLVersion: '1.0' })
  const root: XmlElement = { uri: '', name: '', children: [], text: '' }
  const path = [root]
  let elements = 0
  const refuse = (message: string) => { throw new XmlError(message) }
  const appendText = (text: string) => { path.at(-1)!.text += text }

  parser.on('error', (error) => refuse(error.message))
  parser.on('doctype', () => refuse('DTD is prohibited in this XML document.'))
  parser.on('processinginstruction', () => refuse('Processing instructions are prohibited in this XML document.'))
  parser.on('text', appendText)
  parser.on('cdata', appendText)
  parser.on('opentag', ({ uri, local }) => {
    if (++elements > MAX_ELEMENTS || path.length > MAX_DEPTH) refuse('The XML document is too deep or too large.')
    const element = { uri, name: local, children: [], text: '' }
    path.at(-1)!.children.push(element)
    path.push(element)
  })
  parser.on('closetag', () => { path.pop() })

  parser.write(source).close()
  return root.children[0]!
}

const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
  '\r': '&#13;'
}

export function escapeXml (text: string): string {
  return text.replace(/[&<>"'\r]/g, (character) => ESCAPES[character]!)
}
