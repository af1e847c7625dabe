import { limitedSignal } from '#src/lib/limited-signal.ts'

/** A request to another service. A `FormData` body sets its own content type. */
export interface ExchangeRequest {
  method?: 'GET' | 'POST'
  headers?: Readonly<Record<string, string>>
  body?: string | FormData
  /** Timeout of the whole response in milliseconds. */
  timeoutMs: number
  /** Maximum size of the response in bytes. */
  bytesMax: number
  /** Aborted when the caller does not need the response any more. */
  signal?: AbortSignal | undefined
}

/** A response of any status. Redirects are not followed, because they would send data to another server. */
export interface Exchanged { status: number, headers: Headers, bytes: Buffer }

/** The reason why a response is missing or incomplete. Only `refused` proves that the service has done nothing. */
type ExchangeFault = 'refused' | 'unreachable' | 'too-late' | 'too-large'

export class ExchangeError extends Error {
  readonly fault: ExchangeFault
  constructor (fault: ExchangeFault) {
    super(`no complete response: ${fault}`)
    this.fault = fault
  }
}

/**
 * Sends one request and reads its whole response.
 * @throws ExchangeError
 */
export async function exchange (
  url: URL | string, { method = 'GET', headers = {}, body, timeoutMs, bytesMax, signal }: ExchangeRequest
): Promise<Exchanged> {
  const limit = limitedSignal(signal ? [signal] : [], timeoutMs)
  try {
    const whole = body instanceof FormData ? await wholeForm(body) : { body: body ?? null, headers: {} }
    const response = await fetch(url, {
      method, headers: { ...headers, ...whole.headers }, body: whole.body, redirect: 'manual', signal: limit.signal
    })
    return { status: response.status, headers: response.headers, bytes: await bytesOf(response, bytesMax) }
  } catch (err) {
    if (err instanceof ExchangeError) throw err
    throw new ExchangeError(limit.signal.aborted ? 'too-late' : isRefused(err) ? 'refused' : 'unreachable')
  } finally {
    limit.end()
  }
}

/** Parses a JSON response. Undefined for any other body. */
export function jsonOf (bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return undefined
  }
}

/**
 * Serializes a form to bytes, because `fetch` would send it as a stream. If the connection is then refused, an
 * unhandled error of the stream would end the process (undici, `ReadableStream is already closed`).
 */
async function wholeForm (form: FormData): Promise<{ body: Uint8Array<ArrayBuffer>, headers: Record<string, string> }> {
  const whole = new Response(form)
  const body = new Uint8Array(await whole.arrayBuffer())
  return { body, headers: { 'content-type': whole.headers.get('content-type')! } }
}

/** Reads the body. An error thrown inside the loop closes the connection. */
async function bytesOf (response: Response, bytesMax: number): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of response.body ?? []) {
    length += piece.length
    if (length > bytesMax) throw new ExchangeError('too-large')
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

function isRefused (err: unknown): boolean {
  const cause = err instanceof Error ? err.cause : undefined
  return cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED'
}
