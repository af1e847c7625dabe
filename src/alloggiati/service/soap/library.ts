import { readFile } from 'node:fs/promises'
import type { Client, HttpClient, Wsdl } from 'strong-soap'
import { isDay } from '#src/lib/time.ts'
import { SoapTransportError } from './errors.ts'

export type SoapVersion = '1.1' | '1.2'

type Exchange = (envelope: string, headers: Record<string, string>) => Promise<string>

const SERVICE = 'Service'
const PORTS: Record<SoapVersion, string> = { 1.1: 'ServiceSoap', 1.2: 'ServiceSoap12' }

/** strong-soap could not make sense of a request or reply. Its own errors are dropped: they hold the whole reply. */
export class LibraryError extends Error {}

type NewClient = (httpClient: HttpClient) => Client

let loading: Promise<NewClient> | undefined

/**
 * One operation through strong-soap: it writes the envelope of `args` from the WSDL and reads the reply that `exchange`
 * brings. Rejects with what `exchange` rejects with, or with a LibraryError.
 */
export async function invoke (
  version: SoapVersion, operation: string, args: object, exchange: Exchange
): Promise<unknown> {
  const newClient = await (loading ??= load())
  return await new Promise((resolve, reject) => {
    // A client of its own for each call: it keeps the last envelope, credentials and all, in a property.
    const client = newClient({
      options: { prettyPrint: false },
      request (_location, xml, done, headers) {
        exchange(xml, headers)
          .then((reply) => done(null, { statusCode: 200, headers: {} }, reply), reject)
          .catch(() => reject(new LibraryError()))
      }
    })
    client[SERVICE]![PORTS[version]]![operation]!(args, (error, result) => {
      if (error) reject(new LibraryError())
      else resolve(result)
    })
  })
}

/** Loads strong-soap with its many dependencies at the first call only: a server that never calls does without. */
async function load (): Promise<NewClient> {
  const { default: { soap } } = await import('strong-soap')
  const content = asTexts(await readFile(new URL('service.wsdl', import.meta.url), 'utf8'))
  const wsdl = await new Promise<Wsdl>((resolve, reject) => {
    new soap.WSDL(content, '', {}).load((error, loaded) => error ? reject(error) : resolve(loaded))
  })
  return (httpClient) => new soap.Client(wsdl, '', { httpClient })
}

/**
 * The WSDL with all simple types as texts. strong-soap's own conversions lose information: any unknown boolean is
 * false, any unknown number NaN, and a dateTime without zone is moved by the zone of the process.
 */
function asTexts (wsdl: string): string {
  return wsdl.replaceAll(/type="s:(?:boolean|int|dateTime|base64Binary)"/g, 'type="s:string"')
}

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
