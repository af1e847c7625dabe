import { SaxesParser, type SaxesTagNS } from 'saxes'
import { SoapFault, SoapTransportError } from './errors.ts'
import type { HttpReply } from './soap-transport.ts'

const NAMESPACES: readonly string[] = [
  'http://schemas.xmlsoap.org/soap/envelope/', 'http://www.w3.org/2003/05/soap-envelope'
]
const SERVICE = 'AlloggiatiService'

/** Where the two versions of SOAP keep a fault's code and text, seen from the Body. */
const CODE_PATHS: readonly string[] = ['Fault/faultcode', 'Fault/Code/Value']
const TEXT_PATHS: readonly string[] = ['Fault/faultstring', 'Fault/Reason/Text']
const CODES_11: Record<string, string> = { Sender: 'Client', Receiver: 'Server' }

type Content = { name: string } | { fault: { code: string, text: string } }

/**
 * The text of a reply that carries the answer of `operation`. strong-soap itself is content with any status, any
 * namespace and any element, so all of that is judged here.
 * @throws SoapFault for a fault with any HTTP status; SoapTransportError otherwise
 */
export function readReply ({ status, contentType, body }: HttpReply, operation: string): string {
  const xml = decode(body, contentType)
  const content = xml === undefined ? undefined : readEnvelope(xml)
  const raw = xml ?? body.toString()
  if (content && 'fault' in content) {
    throw new SoapFault(content.fault.code, content.fault.text, { httpStatus: status, raw })
  }
  if (status !== 200) throw new SoapTransportError('http-status', { sent: true, httpStatus: status, raw })
  if (xml === undefined || content?.name !== `${operation}Response`) throw malformedReply(raw)
  return xml
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

/** What the Body holds; undefined for anything but a well-formed envelope with one element in its Body. */
function readEnvelope (xml: string): Content | undefined {
  const parser = new SaxesParser({ xmlns: true, defaultXMLVersion: '1.0', forceXMLVersion: true })
  const path: string[] = []
  const faultTexts = new Map<string, string>()
  const payloads: SaxesTagNS[] = []
  let envelope: string | undefined
  let bodies = 0

  parser.on('error', refuse)
  parser.on('doctype', () => refuse())
  parser.on('opentag', (tag) => {
    path.push(tag.local)
    if (path.length === 1) envelope = tag.local === 'Envelope' && NAMESPACES.includes(tag.uri) ? tag.uri : refuse()
    if (path.length === 2 && tag.local === 'Body') bodies += tag.uri === envelope ? 1 : refuse()
    if (path.length === 3 && path[1] === 'Body') payloads.push(tag)
    // strong-soap follows these references through a plain object, where an id may be `__proto__`.
    if ('id' in tag.attributes || 'href' in tag.attributes) refuse()
  })
  parser.on('text', append)
  parser.on('cdata', append)
  parser.on('closetag', () => { path.pop() })

  function append (text: string): void {
    if (path[2] !== 'Fault') return
    const where = path.slice(2).join('/')
    if (CODE_PATHS.includes(where) || TEXT_PATHS.includes(where)) {
      faultTexts.set(where, (faultTexts.get(where) ?? '') + text)
    }
  }

  try {
    parser.write(xml).close()
  } catch {
    return undefined
  }
  const [payload] = payloads
  if (payload === undefined || payloads.length > 1 || bodies !== 1) return undefined
  if (payload.uri === SERVICE) return { name: payload.local }
  if (payload.uri !== envelope || payload.local !== 'Fault') return undefined
  const code = localName(first(CODE_PATHS, faultTexts))
  return { fault: { code: CODES_11[code] ?? code, text: first(TEXT_PATHS, faultTexts) } }
}

function first (paths: readonly string[], texts: Map<string, string>): string {
  return paths.map((path) => texts.get(path)).find((text) => text !== undefined)?.trim() ?? ''
}

function localName (qualified: string): string {
  return qualified.slice(qualified.indexOf(':') + 1)
}

function refuse (): never {
  throw new SyntaxError('not a SOAP reply')
}
