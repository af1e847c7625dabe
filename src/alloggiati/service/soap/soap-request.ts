import { readFile } from 'node:fs/promises'
import type { Client, HttpClient, Wsdl } from 'strong-soap'
import { isDay } from '#src/lib/time.ts'
import { SoapTransportError } from './errors.ts'
import { escapeXml } from './xml.ts'

type NewClient = (httpClient: HttpClient) => Client

let loading: Promise<NewClient> | undefined

/**
 * The SOAP 1.2 envelope of one request, which strong-soap writes from the WSDL. Nothing is sent.
 * @throws SoapTransportError `invalid-request`, which names the element and never its value
 */
export async function writeRequest (operation: string, request: object): Promise<string> {
  const elements = encodeRequest(request)
  const newClient = await (loading ??= load())
  return await new Promise((resolve, reject) => {
    // A client of its own for each call: it keeps the last envelope, credentials and all, in a property.
    const client = newClient({
      options: { prettyPrint: false },
      request: (_location, xml) => { resolve(xml) }
    })
    client.Service!.ServiceSoap12![operation]!(elements, () => {
      reject(new SoapTransportError('invalid-request', { sent: false, reason: operation }))
    })
  })
}

/** Loads strong-soap with its many dependencies at the first call only: a server that never calls does without. */
async function load (): Promise<NewClient> {
  const { default: { soap } } = await import('strong-soap')
  // As a dateTime strong-soap would move the day of a receipt by the zone of the process.
  const content = (await readFile(new URL('service.wsdl', import.meta.url), 'utf8'))
    .replaceAll('type="s:dateTime"', 'type="s:string"')
  const wsdl = await new Promise<Wsdl>((resolve, reject) => {
    new soap.WSDL(content, '', {}).load((error, loaded) => error ? reject(error) : resolve(loaded))
  })
  return (httpClient) => new soap.Client(wsdl, '', { httpClient })
}

/** What strong-soap inserts as it stands, without its own reading of texts. */
interface Raw { $xml: string }
type Encoded = Raw | { string: Raw[] }

/** Everything but the characters of XML 1.0, lone surrogates included (production 2 of the recommendation). */
const ILLEGAL = /[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u
const MAX_INT = 2_147_483_647

/**
 * The elements of a request as strong-soap takes them. Texts are escaped here because strong-soap takes the marks of a
 * CDATA section out of them, and rows must reach the service byte for byte.
 */
function encodeRequest (request: object): Record<string, Encoded> {
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
  return ILLEGAL.test(value) ? refuse(name) : { $xml: escapeXml(value) }
}

function refuse (name: string): never {
  throw new SoapTransportError('invalid-request', { sent: false, reason: name })
}
