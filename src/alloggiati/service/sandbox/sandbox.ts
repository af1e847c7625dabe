import { readFile } from 'node:fs/promises'
import Fastify, { LogController, type FastifyBaseLogger, type FastifyReply, type FastifyRequest } from 'fastify'
import type { AddressInfo } from 'node:net'
import type { Database } from '#src/database/connect.ts'
import type { Clock } from '#src/lib/time.ts'
import { loadCodes, type Codes } from './sandbox-codes.ts'
import { readContract, type Contract } from './wsdl.ts'
import { readEnvelope, writeEnvelope, SOAP_11, SOAP_12, SoapFault, unreadable, type SoapVersion } from './envelope.ts'
import { readMessage, writeMessage } from './message.ts'
import { perform, type Service } from './operations.ts'

const PATH = '/service/service.asmx'
/** That of ASP.NET: a thousand rows take about 200 KB. */
const BODY_LIMIT = 4 * 1024 * 1024
const LOOPBACK = ['127.0.0.1', '::1', 'localhost']

interface SandboxOptions {
  db: Database
  clock: Clock
  log: FastifyBaseLogger
  host?: string
  port?: number
  /** The one account that can log in. */
  credentials: { utente: string, password: string, wskey: string }
}

interface Sandbox {
  /** `http://127.0.0.1:<port>/service/service.asmx`; the WSDL is at `?wsdl`. */
  endpoint: string
  /** Lets the calls under way end. */
  close (): Promise<void>
}

/** What is served, read once a process. */
let served: ReturnType<typeof readServed> | undefined

async function readServed (): Promise<{ wsdl: string, contract: Contract }> {
  const wsdl = await readFile(new URL('../soap/service.wsdl', import.meta.url), 'utf8')
  return { wsdl, contract: readContract(wsdl) }
}

/**
 * Starts a stand-in of the police service on a loopback address. It is a server of its own, speaks both SOAP versions
 * from the service's WSDL and keeps what it acquires in the database: a restart loses nothing, and instances on one
 * database agree.
 */
export async function startSandbox ({
  db, clock, log, host = '127.0.0.1', port = 0, credentials
}: SandboxOptions): Promise<Sandbox> {
  if (!LOOPBACK.includes(host)) throw new Error(`The sandbox listens on loopback only, not on ${host}`)
  const { wsdl, contract } = await (served ??= readServed())
  let codes: Promise<Codes> | undefined
  const service: Service = { db, clock, credentials, codes: () => (codes ??= loadCodes()) }

  const app = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_LIMIT
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>(
    [SOAP_11.mediaType, SOAP_12.mediaType],
    { parseAs: 'buffer' },
    async (_: FastifyRequest, body: Buffer) => body
  )
  app.setErrorHandler(answerError)

  app.get(PATH, async (request, reply) => {
    if (!/\?wsdl$/i.test(request.url)) return reply.callNotFound()
    return reply.type('text/xml; charset=utf-8').send(wsdl.replace(/(:address location=")[^"]*/g, `$1${endpoint}`))
  })
  app.post(PATH, async (request, reply) => {
    const { version, action } = readHeaders(request)
    if (!version) return reply.code(415).type('text/plain; charset=utf-8').send('Unsupported Media Type')
    reply.type(`${version.mediaType}; charset=utf-8`)
    try {
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
      return writeEnvelope(await answer(body, { version, action }, contract, service), version)
    } catch (error) {
      if (!(error instanceof SoapFault)) request.log.error({ err: error }, 'sandbox call failed')
      const { code, message } =
        error instanceof SoapFault ? error : new SoapFault('Server', 'Server was unable to process request.')
      return reply.code(500).send(writeEnvelope(version.renderFault(code, message), version))
    }
  })

  await app.listen({ host, port, listenTextResolver: (address) => `Alloggiati Web sandbox listening at ${address}` })
  const { port: actualPort } = app.server.address() as AddressInfo
  const endpoint = `http://${host === '::1' ? '[::1]' : host}:${actualPort}${PATH}`
  return { endpoint, close: async () => { await app.close() } }
}

function answerError (error: Error & { statusCode?: number }, request: FastifyRequest, reply: FastifyReply) {
  const status = error.statusCode ?? 500
  if (status >= 500) request.log.error({ err: error }, 'sandbox request failed')
  return reply.code(status).type('text/plain; charset=utf-8')
    .send(status >= 500 ? 'Internal Server Error' : error.message)
}

async function answer (
  body: Buffer, { version, action }: Required<Headers>, contract: Contract, service: Service
): Promise<string> {
  // SOAP 1.1 names the operation in its header, and 1.2 may. A name must be that of the operation in the body.
  const named = [...contract.operations.values()].find((operation) => operation.action === action)
  if (!named && (version === SOAP_11 || action !== '')) {
    throw new SoapFault('Client', `Server did not recognize the value of HTTP Header SOAPAction: ${action}.`)
  }
  const payload = readEnvelope(body, version)
  const operation = payload.uri === contract.namespace ? contract.operations.get(payload.name) : undefined
  if (!operation || (named && named !== operation)) {
    throw unreadable(`Element ${payload.name} (namespace '${payload.uri}') was not expected in Body.`)
  }
  const response = await perform(operation.name, readMessage(operation.request, payload, contract), service)
  const content = writeMessage(operation.response, response, contract)
  return `<${operation.name}Response xmlns="${contract.namespace}">${content}</${operation.name}Response>`
}

interface Headers {
  /** Missing where media type and charset are none of SOAP over UTF-8. */
  version?: SoapVersion
  action: string
}

function readHeaders ({ headers }: FastifyRequest): Headers {
  const [mediaType, ...parameters] = (headers['content-type'] ?? '').split(';').map((part) => part.trim())
  const parameter = (name: string) =>
    unquote(parameters.find((one) => one.toLowerCase().startsWith(`${name}=`))?.slice(name.length + 1))
  const isUtf8 = ['', 'utf-8'].includes(parameter('charset').toLowerCase())
  const version = isUtf8 ? [SOAP_11, SOAP_12].find((one) => one.mediaType === mediaType?.toLowerCase()) : undefined
  const header = headers.soapaction
  const action = version === SOAP_12 ? parameter('action') : unquote(Array.isArray(header) ? header[0] : header)
  return version ? { version, action } : { action }
}

function unquote (text: string | undefined): string {
  return (text ?? '').replace(/^"(.*)"$/, '$1')
}
