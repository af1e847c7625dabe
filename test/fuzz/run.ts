import { Agent, request as send, type IncomingHttpHeaders } from 'node:http'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { callers, CLOSING, CLOSING_JSON, type Callers } from './callers.ts'
import { operationsOf, resolver, type Document, withResponses } from './document.ts'
import { responseChecker, type ApiResponse, type CheckResponse } from './response-checker.ts'
import { requests, type FuzzedRequest } from './requests.ts'
import { KINDS, type Kind } from './values.ts'

interface FuzzResult {
  requests: number
  /** Number of responses with 2xx or 3xx, by kind. */
  accepted: Record<Kind, number>
  /** Number of responses by status. */
  statuses: Record<string, number>
  /** Violations, each with its request. */
  faults: string[]
  slowest: { ms: number, request: string }
}

interface FuzzOptions {
  /** The server's base URL. */
  address: string
  apiKey: string
  serviceKey: string
  /** Total number of requests for all operations, a third of each kind. */
  cases: number
  seed: number
}

/** Concurrent requests. */
const PARALLEL = 4

/** Operations that affect all later requests, and the requests that undo them. */
const UNDO: Readonly<Record<string, { path: string, body: object }>> = {
  'POST /api/settings/maintenance': { path: '/api/settings/maintenance', body: { enabled: false } },
  'POST /api/v1/invii/sospensione': { path: '/api/v1/invii/sospensione', body: { sospeso: false } }
}

/** Generates requests from the server's OpenAPI document, and checks each response against it. */
export async function runFuzz ({ address, cases, seed, ...keys }: FuzzOptions): Promise<FuzzResult> {
  const agent = new Agent({ keepAlive: true })
  const response = await fetch(`${address}/openapi.json`, { headers: CLOSING })
  const document = withResponses(await response.json() as Document)
  const who = callers(address, keys)
  const checkResponse = responseChecker(document)
  const result: FuzzResult = {
    requests: 0,
    accepted: { valid: 0, nearly: 0, hostile: 0 },
    statuses: {},
    faults: [],
    slowest: { ms: 0, request: '' }
  }
  const waiting = shuffled(document, cases, seed)
  const work = async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      await one(next, { address, agent, who, checkResponse, result })
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, work))
  agent.destroy()
  return result
}

function shuffled (document: Document, cases: number, seed: number): FuzzedRequest[] {
  const operations = operationsOf(document)
  const resolve = resolver(document)
  const each = Math.max(1, Math.ceil(cases / operations.length / KINDS.length))
  const all = operations.flatMap((operation) => KINDS.flatMap((kind) =>
    fc.sample(requests(operation, kind, resolve), { numRuns: each, seed })))
  return fc.sample(fc.shuffledSubarray(all, { minLength: all.length }), { numRuns: 1, seed })[0]!
}

interface Surroundings { address: string, agent: Agent, who: Callers, checkResponse: CheckResponse, result: FuzzResult }

async function one (
  fuzzed: FuzzedRequest, { address, agent, who, checkResponse, result }: Surroundings
): Promise<void> {
  const { kind, caller, path, operation } = fuzzed
  const startedAt = performance.now()
  const answer = await exchange(agent, address, fuzzed, await who.headers(caller))
    .catch((err: unknown): ApiResponse => ({ status: 0, headers: {}, body: String(err) }))
  const ms = Math.round(performance.now() - startedAt)
  if (ms > result.slowest.ms) result.slowest = { ms, request: `${operation.method} ${path}` }
  result.requests++
  result.statuses[answer.status] = (result.statuses[answer.status] ?? 0) + 1
  if (answer.status >= 200 && answer.status < 400) result.accepted[kind]++
  if (answer.status === 401 && caller === 'person') who.forget()
  const fault = checkResponse(fuzzed, answer)
  if (fault !== undefined) {
    const { headers, body } = fuzzed
    const sent = `${JSON.stringify(headers)} ${body?.slice(0, 300).toString() ?? ''}`
    result.faults.push(`${fault}: ${operation.method} ${path} as ${caller} ${sent}`)
  }
  const undo = UNDO[`${operation.method} ${operation.path}`]
  if (undo) {
    await fetch(address + undo.path, {
      method: 'POST',
      headers: { ...CLOSING_JSON, ...await who.headers('service') },
      body: JSON.stringify(undo.body)
    })
  }
}

function exchange (
  agent: Agent, address: string, fuzzed: FuzzedRequest, credentials: Record<string, string>
): Promise<ApiResponse> {
  const { operation: { method }, path, headers, body } = fuzzed
  const { hostname, port } = new URL(address)
  const length: Record<string, string> = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  return new Promise((resolve, reject) => {
    // The raw path: a URL object would normalize it.
    const request = send({ agent, hostname, port, method, path, headers: { ...headers, ...credentials, ...length } })
    request.on('error', (err) => {
      // Retry if the server has closed an idle connection while the request was being sent.
      if (request.reusedSocket && 'code' in err && err.code === 'ECONNRESET') {
        exchange(agent, address, fuzzed, credentials).then(resolve, reject)
      } else reject(err)
    })
    request.on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const { statusCode: status = 0, headers }: { statusCode?: number, headers: IncomingHttpHeaders } = response
        const bytes = Buffer.concat(chunks)
        const body = headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes
        resolve({ status, headers, body: body.toString() })
      })
    })
    request.end(body)
  })
}
