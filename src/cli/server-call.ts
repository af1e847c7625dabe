import { CliError, EXIT } from './errors.ts'

export interface Request {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  query?: Readonly<Record<string, string | number | undefined>>
  headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  body?: object
  timeoutMs?: number
}

export interface ApiResponse {
  status: number
  headers: Headers
  /** The parsed JSON. Undefined for a body that is not JSON. */
  body: unknown
}

const TIMEOUT_MS = 30_000

/** Node's codes for network errors. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connessione rifiutata',
  ECONNRESET: 'connessione interrotta',
  UND_ERR_SOCKET: 'connessione interrotta',
  ENOTFOUND: 'nome sconosciuto',
  ETIMEDOUT: 'nessuna risposta in tempo',
  UND_ERR_CONNECT_TIMEOUT: 'nessuna risposta in tempo',
  ERR_SSL_WRONG_VERSION_NUMBER: 'non parla TLS: forse è un indirizzo http'
}
const CERTIFICATE = /^(CERT_|ERR_TLS_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_)/

/**
 * Sends one request and returns the whole response, with any status. Does not follow redirects, because these would
 * forward the credentials.
 * @param base a base URL from `baseUrl`
 * @throws CliError when the server is unreachable or does not respond in time
 */
export async function exchange (base: string, path: string, request: Request): Promise<ApiResponse> {
  const { method = 'GET', query = {}, headers = {}, body, timeoutMs = TIMEOUT_MS } = request
  const url = new URL(base + path)
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value))
  try {
    const response = await fetch(url, {
      method,
      headers: { accept: 'application/json', ...headers, ...body && { 'content-type': 'application/json' } },
      body: body ? JSON.stringify(body) : null,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs)
    })
    return { status: response.status, headers: response.headers, body: parsedJson(await response.text()) }
  } catch (err) {
    const reason = reasonOf(err as Error)
    throw new CliError(EXIT.unreachable, 'SERVER_NON_RAGGIUNGIBILE', `Server non raggiungibile: ${base} (${reason})`)
  }
}

/** The parsed JSON. Undefined when the text is not JSON. */
export function parsedJson (text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function reasonOf ({ name, cause }: Error): string {
  if (name === 'TimeoutError') return REASONS.ETIMEDOUT!
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'errore di rete'
  return CERTIFICATE.test(code) ? `certificato non valido: ${code}` : REASONS[code] ?? code
}

/**
 * The body of a successful response that has at least these fields.
 * @throws CliError for a refusal, and for a response of another service
 */
export function expectBody<T extends object> (response: ApiResponse, ...fields: (keyof T & string)[]): T {
  if (response.status < 200 || response.status > 299) throw refusal(response)
  const body = fieldsOf(response.body)
  if (body === undefined || !fields.every((name) => name in body)) {
    const text = 'La risposta non è quella di un server Locanda: controllare l’indirizzo'
    throw new CliError(EXIT.failed, 'RISPOSTA_NON_VALIDA', text)
  }
  return body as T
}

/** The error for an unsuccessful response. */
export function refusal ({ status, body }: ApiResponse): CliError {
  if (status >= 300 && status < 400) {
    const text = 'Il server rimanda a un altro indirizzo: indicare quello definitivo con --url'
    return new CliError(EXIT.failed, 'REINDIRIZZAMENTO', text)
  }
  const data = fieldsOf(body)
  return new CliError(
    status === 401 ? EXIT.credentials : EXIT.failed,
    typeof data?.codice === 'string' ? data.codice : `STATO_${status}`,
    typeof data?.error === 'string' ? data.error : `Il server ha risposto con lo stato ${status}, senza spiegazioni`,
    data
  )
}

/** The fields of an unknown value. Undefined when it is not an object. */
export function fieldsOf (value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? value as Record<string, unknown>
    : undefined
}
