import { CliError, EXIT } from './errors.ts'

export interface Request {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  query?: Readonly<Record<string, string | number | undefined>>
  headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  body?: object
  timeoutMs?: number
}

export interface Answer {
  status: number
  headers: Headers
  /** The parsed JSON; undefined for anything else. */
  body: unknown
}

const TIMEOUT_MS = 30_000

/** Node's codes of what goes wrong between two machines. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connessione rifiutata',
  ECONNRESET: 'connessione interrotta',
  UND_ERR_SOCKET: 'connessione interrotta',
  EHOSTUNREACH: 'macchina non raggiungibile',
  ENETUNREACH: 'rete non raggiungibile',
  ENOTFOUND: 'nome sconosciuto',
  EAI_AGAIN: 'nome non risolto',
  ETIMEDOUT: 'nessuna risposta in tempo',
  UND_ERR_CONNECT_TIMEOUT: 'nessuna risposta in tempo',
  ERR_SSL_WRONG_VERSION_NUMBER: 'non parla TLS: forse è un indirizzo http'
}
const CERTIFICATE = /^(CERT_|ERR_TLS_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_)/

/**
 * One request and its whole answer, of any status. Redirects are not followed: they would take credentials
 * elsewhere.
 * @param base a base URL as `baseUrl` gives it
 * @throws CliError when there is no answer, or not in time
 */
export async function exchange (base: string, path: string, request: Request = {}): Promise<Answer> {
  const { method = 'GET', query = {}, headers = {}, body, timeoutMs = TIMEOUT_MS } = request
  const url = new URL(base + path)
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value))
  try {
    const response = await fetch(url, {
      method,
      headers: {
        accept: 'application/json',
        ...headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' })
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs)
    })
    return { status: response.status, headers: response.headers, body: parsed(await response.text()) }
  } catch (err) {
    throw new CliError(
      EXIT.unreachable,
      'SERVER_NON_RAGGIUNGIBILE',
      `Server non raggiungibile: ${base} (${reason(err)})`
    )
  }
}

function parsed (text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function reason (err: unknown): string {
  if (!(err instanceof Error)) return 'errore di rete'
  if (err.name === 'TimeoutError') return REASONS.ETIMEDOUT!
  const cause = err.cause
  // Ports of other protocols, which the Fetch standard closes.
  if (cause instanceof Error && cause.message === 'bad port') return 'porta non ammessa da fetch'
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  if (CERTIFICATE.test(code)) return `certificato non valido: ${code}`
  return REASONS[code] ?? (code === '' ? 'errore di rete' : code)
}
