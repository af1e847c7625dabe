import { ProviderNonRaggiungibile } from '../errors.ts'
import { parseJson, readBody, reasonOf, UnusableResponse } from '../response-body.ts'
import type { ExternalSettings } from './external-settings.ts'

export interface IdpResponse {
  status: number
  body: unknown
  /** The error code of Supabase Auth. Empty on success, and when the response has none. */
  code: string
  /** For a page of a list: the length of the whole list (`X-Total-Count`). */
  total: number | undefined
}

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

interface IdpClientOptions {
  settings: Pick<ExternalSettings, 'base' | 'anonKey'>
  log: { warn (fields: { reason: string, operation: string }, message: string): void }
  fetch?: typeof globalThis.fetch
  timeoutMs?: number
}

const TIMEOUT_MS = 10_000
const RESPONSE_BYTES = 5 * 1024 * 1024

export type IdpClient = ReturnType<typeof idpClient>

/** HTTP client of the provider. Errors and log lines never contain keys, tokens, e-mail addresses or responses. */
export function idpClient ({ settings, log, fetch = globalThis.fetch, timeoutMs = TIMEOUT_MS }: IdpClientOptions) {
  return {
    /**
     * Sends a request with a person's token. Returns a success or a refusal (any 4xx except 429).
     * @throws ProviderNonRaggiungibile on a network error, timeout, redirect, 429, 5xx, or a response that is not JSON
     */
    asPerson: (token: string, method: Method, path: string) =>
      ask(method, path, { apikey: settings.anonKey, authorization: `Bearer ${token}` }),
    /** Sends a request with the service key. Throws the same error also when the provider rejects the key. */
    async asService (serviceKey: string, method: Method, path: string, body?: object): Promise<IdpResponse> {
      const isRefused = ({ status }: IdpResponse) => status === 401 || status === 403
      return await ask(method, path, { apikey: serviceKey, authorization: `Bearer ${serviceKey}` }, body, isRefused)
    }
  }

  async function ask (
    method: Method,
    path: string,
    credentials: Record<string, string>,
    body?: object,
    isFault = (_answer: IdpResponse) => false
  ): Promise<IdpResponse> {
    try {
      const response = await fetch(settings.base + path, {
        method,
        headers: {
          accept: 'application/json',
          ...credentials,
          ...(body === undefined ? {} : { 'content-type': 'application/json' })
        },
        body: body === undefined ? undefined : JSON.stringify(body),
        // A redirect would send the keys to another server.
        redirect: 'error',
        signal: AbortSignal.timeout(timeoutMs)
      })
      const answer = await read(response)
      if (isFault(answer)) throw new UnusableResponse(`status ${answer.status}`)
      return answer
    } catch (err) {
      const operation = `${method} ${path.replace(/\?.*/, '').replace(/[0-9a-f-]{36}/, ':id')}`
      log.warn({ reason: reasonOf(err), operation }, 'a request to the identity provider failed')
      throw new ProviderNonRaggiungibile()
    }
  }
}

async function read (response: Response): Promise<IdpResponse> {
  const { status, headers } = response
  if (status >= 500 || status === 429) {
    await response.body?.cancel()
    throw new UnusableResponse(`status ${status}`)
  }
  const text = (await readBody(response, RESPONSE_BYTES)).toString()
  const body = text === '' ? undefined : parseJson(text)
  const total = Number(headers.get('x-total-count') ?? NaN)
  return {
    status,
    body,
    code: response.ok ? '' : codeOf(body) || (headers.get('x-sb-error-code') ?? ''),
    total: Number.isInteger(total) ? total : undefined
  }
}

/** Reads `{code: 422, error_code: "x"}`, or `{code: "x"}` in the newer format. */
function codeOf (body: unknown): string {
  if (typeof body !== 'object' || body === null) return ''
  const { error_code: long, code: short } = body as Record<string, unknown>
  return [long, short].find((code) => typeof code === 'string') ?? ''
}
