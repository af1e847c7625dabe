import { ProviderNonRaggiungibile } from '../errors.ts'
import type { ExternalSettings } from './settings.ts'

/** What the provider answered: a body that was JSON, or undefined where there was none. */
export interface Answer {
  status: number
  body: unknown
  /** The error's code in the words of Supabase Auth; empty for a success. */
  code: string
  /** Of how many the body is a page (`X-Total-Count`). */
  total: number | undefined
}

export interface ProviderClient {
  /**
   * Asks as a person, with their token. What it may answer is up to the caller: a success or a refusal (a 4xx but 429).
   * @throws ProviderNonRaggiungibile for no answer in time, a fault of the provider, and what is no answer of its
   * protocol
   */
  asPerson (token: string, method: Method, path: string): Promise<Answer>
  /** The same as an administrator; a refusal of the service key is a fault, too. */
  asService (serviceKey: string, method: Method, path: string, body?: object): Promise<Answer>
}

type Method = 'GET' | 'POST' | 'DELETE'

export interface ClientOptions {
  settings: Pick<ExternalSettings, 'base' | 'anonKey'>
  log: { warn (fields: { motivo: string, operazione: string }, message: string): void }
  fetch?: typeof globalThis.fetch
  /** For one whole answer. */
  timeoutMs?: number
}

const TIMEOUT_MS = 10_000
const RESPONSE_BYTES = 5 * 1024 * 1024

/** Why an answer is none, in words that may be logged. */
class NoAnswer extends Error {}

/** The provider over HTTP. Neither keys nor tokens, addresses of people or answers get into an error or the log. */
export function providerClient ({
  settings,
  log,
  fetch = globalThis.fetch,
  timeoutMs = TIMEOUT_MS
}: ClientOptions): ProviderClient {
  return {
    asPerson: (token, method, path) =>
      ask(method, path, { apikey: settings.anonKey, authorization: `Bearer ${token}` }),
    async asService (serviceKey, method, path, body) {
      const isRefused = ({ status }: Answer) => status === 401 || status === 403
      return await ask(method, path, { apikey: serviceKey, authorization: `Bearer ${serviceKey}` }, body, isRefused)
    }
  }

  async function ask (
    method: Method,
    path: string,
    credentials: Record<string, string>,
    body?: object,
    isFault = (_answer: Answer) => false
  ): Promise<Answer> {
    try {
      const response = await fetch(settings.base + path, {
        method,
        headers: {
          accept: 'application/json',
          ...credentials,
          ...(body === undefined ? {} : { 'content-type': 'application/json' })
        },
        body: body === undefined ? undefined : JSON.stringify(body),
        // Elsewhere these keys are nobody's business.
        redirect: 'error',
        signal: AbortSignal.timeout(timeoutMs)
      })
      const answer = await read(response)
      if (isFault(answer)) throw new NoAnswer(`status ${answer.status}`)
      return answer
    } catch (err) {
      log.warn(
        { motivo: reasonOf(err), operazione: `${method} ${path.replace(/\?.*/, '').replace(/[0-9a-f-]{36}/, ':id')}` },
        'the identity provider gave no answer'
      )
      throw new ProviderNonRaggiungibile()
    }
  }
}

async function read (response: Response): Promise<Answer> {
  const { status, headers } = response
  if (status >= 500 || status === 429) {
    await response.body?.cancel()
    throw new NoAnswer(`status ${status}`)
  }
  const text = await textOf(response)
  const body = text === '' ? undefined : parsed(text)
  const total = Number(headers.get('x-total-count') ?? NaN)
  return {
    status,
    body,
    code: response.ok ? '' : codeOf(body) || (headers.get('x-sb-error-code') ?? ''),
    total: Number.isInteger(total) ? total : undefined
  }
}

/** The body, counted after decompression. */
async function textOf (response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    // Leaving the loop drops the connection.
    if (length > RESPONSE_BYTES) throw new NoAnswer('too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function parsed (text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new NoAnswer('not JSON')
  }
}

/** `{code: 422, error_code: "x"}`, or `{code: "x"}` in the newer form. */
function codeOf (body: unknown): string {
  if (typeof body !== 'object' || body === null) return ''
  const { error_code: long, code: short } = body as Record<string, unknown>
  return [long, short].find((code) => typeof code === 'string') ?? ''
}

/** Node hides the reason of a failed connection in the cause. */
function reasonOf (err: unknown): string {
  if (err instanceof NoAnswer) return err.message
  const { name, cause } = err instanceof Error ? err : new Error()
  return cause instanceof Error && 'code' in cause ? String(cause.code) : name
}
