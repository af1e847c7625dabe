import Fastify, { LogController, type FastifyBaseLogger } from 'fastify'
import type { Database } from '#src/database/connect.ts'
import type { Clock } from '#src/lib/time.ts'
import { bundledData } from '../../tables/bundled.ts'
import { createTables, type Tables } from '../../tables/code-tables.ts'
import { ENVELOPES, escapeXml, readBody, SERVICE, XmlError } from '../soap/xml.ts'
import { isOperation, perform, type Parts, type Value } from './operations.ts'

const PATH = '/service/service.asmx'
/** The default limit of ASP.NET. A thousand rows take about 200 KB. */
const BODY_LIMIT = 4 * 1024 * 1024
const HOST = '127.0.0.1'
/** The media type of SOAP 1.2. */
const MEDIA_TYPE = 'application/soap+xml'

interface SandboxOptions {
  db: Database
  clock: Clock
  log: FastifyBaseLogger
  /** The first account. Other accounts can log in with any password except `sbagliata`. */
  credentials: { utente: string, password: string, wskey: string }
}

interface Sandbox {
  /** `http://127.0.0.1:<port>/service/service.asmx` */
  endpoint: string
  /** Closes after the current calls have ended. */
  close (): Promise<void>
}

/**
 * Starts a stand-in of the police service on a loopback address, as a separate server. It stores acquired rows in the
 * database, so a restart keeps them, and all instances share them.
 */
export async function startSandbox ({ db, clock, log, credentials }: SandboxOptions): Promise<Sandbox> {
  let tables: Tables | undefined
  const parts: Parts = { db, clock, credentials, tables: () => (tables ??= createTables(bundledData())) }

  const app = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_LIMIT
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<string>(MEDIA_TYPE, { parseAs: 'string' }, async (_: unknown, body: string) => body)

  app.post<{ Body: string | undefined }>(PATH, async (request, reply) => {
    reply.type(`${MEDIA_TYPE}; charset=utf-8`)
    try {
      return writeEnvelope(await answer(request.body ?? '', parts))
    } catch (error) {
      // The same texts as ASP.NET ASMX, which the real service uses.
      const isSenderFault = error instanceof XmlError
      if (!isSenderFault) request.log.error({ err: error }, 'sandbox call failed')
      const reason = isSenderFault ? `read request. ---> ${escapeXml(error.message)}` : 'process request.'
      return reply.code(500).send(writeEnvelope(writeFault(isSenderFault, `Server was unable to ${reason}`)))
    }
  })

  const listenTextResolver = (address: string) => `Alloggiati Web sandbox listening at ${address}`
  const origin = await app.listen({ host: HOST, port: 0, listenTextResolver })
  return { endpoint: origin + PATH, close: async () => { await app.close() } }
}

async function answer (body: string, parts: Parts): Promise<string> {
  const { uri, name, children } = readBody(body)
  if (uri !== SERVICE || !isOperation(name)) {
    throw new XmlError(`Element ${name} (namespace '${uri}') was not expected in Body.`)
  }
  const response = await perform(name, children.filter((child) => child.uri === SERVICE), parts)
  return `<${name}Response xmlns="${SERVICE}">${contentOf(response)}</${name}Response>`
}

function writeFault (isSenderFault: boolean, reason: string): string {
  return `<soap:Fault><soap:Code><soap:Value>soap:${isSenderFault ? 'Sender' : 'Receiver'}</soap:Value></soap:Code>` +
    `<soap:Reason><soap:Text xml:lang="en">${reason}</soap:Text></soap:Reason><soap:Detail/></soap:Fault>`
}

function writeEnvelope (body: string): string {
  return `<?xml version="1.0" encoding="utf-8"?><soap:Envelope xmlns:soap="${ENVELOPES[1.2]}" ` +
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
