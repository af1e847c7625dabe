import { readFile } from 'node:fs/promises'
import type { Client, HttpClient, Wsdl } from 'strong-soap'
import { isDay } from '#src/lib/time.ts'
import { SoapTransportError } from './errors.ts'
import { escapeXml } from './xml.ts'

type NewClient = (httpClient: HttpClient) => Client

let loading: Promise<NewClient> | undefined

/**
 * Writes the SOAP 1.2 envelope of one request with strong-soap, without sending it.
 * @throws SoapTransportError `invalid-request`, which names the element and never its value
 */
export async function writeRequest (operation: string, request: object): Promise<string> {
  const elements = encodeRequest(request)
  const newClient = await (loading ??= load())
  return await new Promise((resolve, reject) => {
    // A new client per call, because a client keeps the last envelope, with credentials, in a property.
    const client = newClient({
      options: { prettyPrint: false },
      request: (_location, xml) => { resolve(xml) }
    })
    client.Service!.ServiceSoap12![operation]!(elements, () => {
      reject(new SoapTransportError('invalid-request', { sent: false, reason: operation }))
    })
  })
}

/** Loads strong-soap and its many dependencies on the first call only. */
async function load (): Promise<NewClient> {
  const { default: { soap } } = await import('strong-soap')
  // strong-soap would shift a dateTime by the time zone of the process. That could change the day of a receipt.
  const content = (await readFile(new URL('service.wsdl', import.meta.url), 'utf8'))
    .replaceAll('type="s:dateTime"', 'type="s:string"')
  const wsdl = await new Promise<Wsdl>((resolve, reject) => {
    new soap.WSDL(content, '', {}).load((error, loaded) => error ? reject(error) : resolve(loaded))
  })
  return (httpClient) => new soap.Client(wsdl, '', { httpClient })
}

/** XML that strong-soap inserts unchanged. */
interface Raw { $xml: string }
type Encoded = Raw | { string: Raw[] }

/** All characters outside XML 1.0, lone surrogates included (production 2 of the recommendation). */
const ILLEGAL = /[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u
const MAX_INT = 2_147_483_647

/**
 * Encodes a request for strong-soap. Texts are escaped here, because strong-soap strips CDATA marks, and rows must
 * reach the service byte for byte.
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
