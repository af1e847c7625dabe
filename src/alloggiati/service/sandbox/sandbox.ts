import { readFile } from 'node:fs/promises'
import Fastify, { LogController, type FastifyBaseLogger } from 'fastify'
import type { AddressInfo } from 'node:net'
import type { Database } from '#src/database/connect.ts'
import type { Clock } from '#src/lib/time.ts'
import { bundledData } from '../../tables/bundled.ts'
import { createTables, type Tables } from '../../tables/code-tables.ts'
import { ENVELOPES, escapeXml, readBody, SERVICE, XmlError } from '../soap/xml.ts'
import { isOperation, perform, type Service, type Value } from './operations.ts'

const PATH = '/service/service.asmx'
/** That of ASP.NET: a thousand rows take about 200 KB. */
const BODY_LIMIT = 4 * 1024 * 1024
const LOOPBACK = ['127.0.0.1', '::1', 'localhost']

/** The two versions of SOAP by their media types, with the words of their faults. */
const VERSIONS = {
  'text/xml': {
    namespace: ENVELOPES[1.1],
    faultOf: (isSenders: boolean, reason: string) =>
      `<faultcode>soap:${isSenders ? 'Client' : 'Server'}</faultcode><faultstring>${reason}</faultstring><detail/>`
  },
  'application/soap+xml': {
    namespace: ENVELOPES[1.2],
    faultOf: (isSenders: boolean, reason: string) =>
      `<soap:Code><soap:Value>soap:${isSenders ? 'Sender' : 'Receiver'}</soap:Value></soap:Code>` +
      `<soap:Reason><soap:Text xml:lang="en">${reason}</soap:Text></soap:Reason><soap:Detail/>`
  }
} as const
const MEDIA_TYPES = Object.keys(VERSIONS) as (keyof typeof VERSIONS)[]

interface SandboxOptions {
  db: Database
  clock: Clock
  log: FastifyBaseLogger
  host?: string
  /** The one account that can log in. */
  credentials: { utente: string, password: string, wskey: string }
}

interface Sandbox {
  /** `http://127.0.0.1:<port>/service/service.asmx`; the WSDL is at `?wsdl`. */
  endpoint: string
  /** Lets the calls under way end. */
  close (): Promise<void>
}

/**
 * Starts a stand-in of the police service on a loopback address. It is a server of its own, speaks both SOAP versions
 * of the service's WSDL and keeps what it acquires in the database: a restart loses nothing, and instances on one
 * database agree.
 */
export async function startSandbox (
  { db, clock, log, host = '127.0.0.1', credentials }: SandboxOptions
): Promise<Sandbox> {
  if (!LOOPBACK.includes(host)) throw new Error(`The sandbox listens on loopback only, not on ${host}`)
  let tables: Tables | undefined
  const service: Service = { db, clock, credentials, tables: () => (tables ??= createTables(bundledData())) }

  const app = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_LIMIT
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<string>(MEDIA_TYPES, { parseAs: 'string' }, async (_: unknown, body: string) => body)

  app.get(PATH, async (request, reply) => {
    if (!/\?wsdl$/i.test(request.url)) return reply.callNotFound()
    const wsdl = await readFile(new URL('../soap/service.wsdl', import.meta.url), 'utf8')
    return reply.type('text/xml; charset=utf-8').send(wsdl.replace(/(:address location=")[^"]*/g, `$1${endpoint}`))
  })
  app.post<{ Body: string | undefined }>(PATH, async (request, reply) => {
    const given = request.headers['content-type']?.toLowerCase() ?? ''
    const mediaType = MEDIA_TYPES.find((type) => given.startsWith(type)) ?? 'text/xml'
    const { namespace, faultOf } = VERSIONS[mediaType]
    reply.type(`${mediaType}; charset=utf-8`)
    try {
      return writeEnvelope(await answer(request.body ?? '', service), namespace)
    } catch (error) {
      // The texts are those of an ASP.NET ASMX service, which the real one is.
      const isSenders = error instanceof XmlError
      if (!isSenders) request.log.error({ err: error }, 'sandbox call failed')
      const reason = isSenders ? `read request. ---> ${escapeXml(error.message)}` : 'process request.'
      const fault = faultOf(isSenders, `Server was unable to ${reason}`)
      return reply.code(500).send(writeEnvelope(`<soap:Fault>${fault}</soap:Fault>`, namespace))
    }
  })

  await app.listen({ host, port: 0, listenTextResolver: (address) => `Alloggiati Web sandbox listening at ${address}` })
  const { port } = app.server.address() as AddressInfo
  const endpoint = `http://${host === '::1' ? '[::1]' : host}:${port}${PATH}`
  return { endpoint, close: async () => { await app.close() } }
}

async function answer (body: string, service: Service): Promise<string> {
  const { uri, name, children } = readBody(body)
  if (uri !== SERVICE || !isOperation(name)) {
    throw new XmlError(`Element ${name} (namespace '${uri}') was not expected in Body.`)
  }
  const response = await perform(name, children.filter((child) => child.uri === SERVICE), service)
  return `<${name}Response xmlns="${SERVICE}">${contentOf(response)}</${name}Response>`
}

function writeEnvelope (body: string, namespace: string): string {
  return `<?xml version="1.0" encoding="utf-8"?><soap:Envelope xmlns:soap="${namespace}" ` +
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema">' +
    `<soap:Body>${body}</soap:Body></soap:Envelope>`
}

function contentOf (value: Value): string {
  if (Buffer.isBuffer(value)) return value.toString('base64')
  return typeof value === 'object'
    ? Object.entries(value).map(([name, each]) => [each].flat().map((one) => writeElement(name, one)).join('')).join('')
    : escapeXml(String(value))
}

function writeElement (name: string, value: Value | undefined): string {
  if (value === undefined) return ''
  const content = contentOf(value)
  return content === '' ? `<${name}/>` : `<${name}>${content}</${name}>`
}
