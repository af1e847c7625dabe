import { isDay } from '#src/lib/time.ts'
import { SoapTransportError } from './errors.ts'

/** What strong-soap inserts as it stands, without its own reading of texts. */
interface Raw { $xml: string }
type Encoded = Raw | { string: Raw[] }

/** Everything but the characters of XML 1.0, lone surrogates included (production 2 of the recommendation). */
const ILLEGAL = /[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u
const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
  '\r': '&#13;'
}
const MAX_INT = 2_147_483_647

/**
 * The elements of a request as strong-soap takes them. Texts are escaped here because strong-soap takes the marks of a
 * CDATA section out of them, and rows must reach the service byte for byte.
 * @throws SoapTransportError `invalid-request`, which names the element and never its value
 */
export function encodeRequest (request: object): Record<string, Encoded> {
  return Object.fromEntries(Object.entries(request).map(([name, value]) => [name, encode(name, value)]))
}

function encode (name: string, value: unknown): Encoded {
  if (name === 'Data') return typeof value === 'string' && isDay(value) ? { $xml: `${value}T00:00:00` } : refuse(name)
  if (typeof value === 'string') return text(name, value)
  if (typeof value === 'number') {
    return Number.isInteger(value) && value >= 0 && value <= MAX_INT ? { $xml: String(value) } : refuse(name)
  }
  if (typeof value === 'object' && value !== null && 'string' in value && Array.isArray(value.string)) {
    return { string: value.string.map((row: unknown) => typeof row === 'string' ? text(name, row) : refuse(name)) }
  }
  return refuse(name)
}

function text (name: string, value: string): Raw {
  if (ILLEGAL.test(value)) refuse(name)
  return { $xml: value.replace(/[&<>"'\r]/g, (character) => ESCAPES[character] ?? character) }
}

function refuse (name: string): never {
  throw new SoapTransportError('invalid-request', { sent: false, reason: name })
}
