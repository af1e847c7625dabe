import { SaxesParser, type SaxesTagNS } from 'saxes'

/** Deep and large enough for a WSDL and for a thousand rows; anything beyond is an attack or a mistake. */
const MAX_DEPTH = 32
const MAX_ELEMENTS = 20_000

export interface XmlElement {
  /** Namespace, empty where there is none. */
  uri: string
  name: string
  /** By local name for plain attributes, by `{namespace}local` for qualified ones. */
  attributes: Map<string, string>
  children: XmlElement[]
  /** The character data directly inside, exactly as sent: nothing is trimmed. */
  text: string
}

/** The document is not the well-formed, plain XML that SOAP allows. */
export class XmlError extends Error {}

/**
 * Reads a document into its root element. DOCTYPE and processing instructions are refused (SOAP 1.1 §3), so no entity
 * can be declared.
 */
export function parseXml (source: string): XmlElement {
  const parser = new SaxesParser({ xmlns: true, forceXMLVersion: true, defaultXMLVersion: '1.0' })
  const path: XmlElement[] = []
  let root: XmlElement | undefined
  let elements = 0
  const refuse = (message: string) => { throw new XmlError(message) }
  const appendText = (text: string) => {
    const current = path.at(-1)
    if (current) current.text += text
  }

  parser.on('error', (error) => refuse(error.message))
  parser.on('doctype', () => refuse('DTD is prohibited in this XML document.'))
  parser.on('processinginstruction', () => refuse('Processing instructions are prohibited in this XML document.'))
  parser.on('xmldecl', ({ encoding }) => {
    if (encoding !== undefined && encoding.toLowerCase() !== 'utf-8') refuse('The declared encoding is not UTF-8.')
  })
  parser.on('text', appendText)
  parser.on('cdata', appendText)
  parser.on('opentag', (tag) => {
    if (++elements > MAX_ELEMENTS || path.length >= MAX_DEPTH) refuse('The XML document is too deep or too large.')
    const element = { uri: tag.uri, name: tag.local, attributes: attributesOf(tag), children: [], text: '' }
    path.at(-1)?.children.push(element)
    root ??= element
    path.push(element)
  })
  parser.on('closetag', () => { path.pop() })

  parser.write(source).close()
  return root ?? refuse('Root element is missing.')
}

function attributesOf (tag: SaxesTagNS): Map<string, string> {
  return new Map(
    Object.values(tag.attributes).map(({ uri, local, value }) => [uri === '' ? local : `{${uri}}${local}`, value])
  )
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\r': '&#13;' }

export function escapeXml (text: string): string {
  return text.replace(/[&<>"\r]/g, (character) => ESCAPES[character] ?? character)
}
