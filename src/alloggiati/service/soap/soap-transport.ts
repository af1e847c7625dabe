import { request as requestHttp, type ClientRequest, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { getCACertificates } from 'node:tls'
import { safeAddress } from '#src/lib/addresses.ts'
import { SoapTransportError, type FailureKind } from './errors.ts'

export interface TransportOptions {
  endpoint: string | URL
  /** Milliseconds for a whole call, from the name lookup to the last byte of the reply. */
  timeoutMs: number
  connectTimeoutMs: number
  /** PEM certificates that are trusted in addition to the system's. */
  ca?: string | Buffer
}

export interface CallOptions {
  /**
   * Awaited once connected, before the first byte of the request is written: the caller records the call here. If it
   * rejects, nothing is sent.
   */
  beforeWrite?: () => Promise<void>
  signal?: AbortSignal
}

export interface HttpReply { status: number, contentType: string, body: Buffer }

const COMMON_HEADERS = { 'User-Agent': 'Locanda', Accept: 'application/soap+xml, text/xml' }
const MAX_BYTES = 20 * 1024 * 1024

type Post = (body: string, headers: Record<string, string>, options: CallOptions) => Promise<HttpReply>

/** The progress of a call. Only from `sent` on can the service have received bytes. */
type Step = 'connecting' | 'handshake' | 'open' | 'sent'

/**
 * Sends each POST on a new connection: no reuse, no retry, no redirect, and TLS is always verified. Node writes no byte
 * before `end()`. So connecting, asking the caller and writing are separate steps, and a failure always shows whether
 * bytes were sent. Every failure is a SoapTransportError. Any status except 3xx is a reply.
 */
export function httpClient ({ endpoint, timeoutMs, connectTimeoutMs, ca }: TransportOptions): Post {
  const url = safeAddress(endpoint)
  const tls = {
    minVersion: 'TLSv1.2',
    rejectUnauthorized: true,
    ca: ca === undefined ? undefined : [...getCACertificates('default'), ca]
  } as const

  return async (body, headers, { beforeWrite, signal }) => {
    const deadline = AbortSignal.timeout(timeoutMs)
    const end = signal ? AbortSignal.any([deadline, signal]) : deadline
    if (end.aborted) throw new SoapTransportError(abortKind(end), { sent: false })
    let step: Step = 'connecting'
    const request = url.protocol === 'https:'
      ? requestHttps(url, { ...optionsOf(body, headers), ...tls })
      : requestHttp(url, optionsOf(body, headers))
    // Destroy the socket, if one exists. Destroying the request would drop the received part of the reply.
    const stop = () => { (request.socket ?? request).destroy() }
    end.addEventListener('abort', stop)
    try {
      await opened(request, connectTimeoutMs, () => { step = 'handshake' })
      step = 'open'
      await ask(request, end, beforeWrite)
      step = 'sent'
      return await answered(request, body)
    } catch (error) {
      throw failure(error, end, step)
    } finally {
      end.removeEventListener('abort', stop)
      stop()
    }
  }
}

/** Without an agent Node opens a new connection and sends `Connection: close`. */
function optionsOf (body: string, headers: Record<string, string>) {
  const length = Buffer.byteLength(body)
  return { method: 'POST', agent: false, headers: { ...COMMON_HEADERS, ...headers, 'Content-Length': length } } as const
}

/** Waits for the connection, and for the TLS handshake if encrypted. */
function opened (request: ClientRequest, connectTimeoutMs: number, onHandshake: () => void): Promise<void> {
  const secure = request.protocol === 'https:'
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new SoapTransportError('connect-timeout', { sent: false })), connectTimeoutMs)
    const settle = (done: () => void) => {
      clearTimeout(timer)
      done()
    }
    // Keep the listener, so that a reset during `beforeWrite` does not crash the process.
    request.on('error', (error) => settle(() => reject(error)))
    request.once('socket', (socket) => {
      if (secure) socket.once('connect', onHandshake)
      socket.once(secure ? 'secureConnect' : 'connect', () => settle(resolve))
    })
  })
}

/** Awaits `beforeWrite` even after an abort, so that it cannot record the call after the caller got a response. */
async function ask (request: ClientRequest, end: AbortSignal, beforeWrite: CallOptions['beforeWrite']): Promise<void> {
  let isEarly = false
  const early = () => { isEarly = true }
  request.once('response', early)
  try {
    await beforeWrite?.()
  } catch (cause) {
    throw new SoapTransportError('before-write', { sent: false, cause })
  } finally {
    request.off('response', early)
  }
  if (end.aborted) throw new SoapTransportError(abortKind(end), { sent: false })
  // Node accepts a response before the request is written. Such a response is not a reply to the call.
  const isOpen = !isEarly && !request.destroyed && request.socket?.writable
  if (!isOpen) throw new SoapTransportError('reset', { sent: false })
}

function answered (request: ClientRequest, body: string): Promise<HttpReply> {
  return new Promise((resolve, reject) => {
    let isAnswered = false
    request.on('error', reject)
    request.on('response', (response) => {
      isAnswered = true
      read(response).then(resolve, reject)
    })
    // An upgrade response closes the request without an error or a response.
    request.on('close', () => { if (!isAnswered) reject(new SoapTransportError('reset', { sent: true })) })
    request.end(body)
  })
}

async function read (response: IncomingMessage): Promise<HttpReply> {
  const status = response.statusCode ?? 0
  const refused = (kind: FailureKind, reason?: string) =>
    new SoapTransportError(kind, { sent: true, httpStatus: status, reason })
  if (status >= 300 && status < 400) throw refused('redirect')
  if ((response.headers['content-encoding'] ?? 'identity') !== 'identity') {
    throw refused('malformed', 'content-encoding')
  }
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response) {
    size += chunk.length
    if (size > MAX_BYTES) throw refused('too-large')
    chunks.push(chunk)
  }
  return { status, contentType: response.headers['content-type'] ?? '', body: Buffer.concat(chunks, size) }
}

const KIND_OF_CODE: Record<string, FailureKind> = {
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  EAI_FAIL: 'dns',
  ECONNREFUSED: 'refused',
  ETIMEDOUT: 'connect-timeout'
}

function failure (error: unknown, end: AbortSignal, step: Step): SoapTransportError {
  if (error instanceof SoapTransportError) return error
  const sent = step === 'sent'
  if (end.aborted) return new SoapTransportError(abortKind(end), { sent })
  const reason = codeOf(error)
  return new SoapTransportError(kindOf(step, reason ?? ''), { sent, reason })
}

function kindOf (step: Step, code: string): FailureKind {
  if (step === 'connecting') return KIND_OF_CODE[code] ?? 'unreachable'
  if (step === 'handshake') return 'tls'
  return code.startsWith('HPE_') ? 'malformed' : 'reset'
}

/** Whether a timeout or the caller aborted the call. */
export function abortKind ({ reason }: AbortSignal): FailureKind {
  return reason instanceof Error && reason.name === 'TimeoutError' ? 'timeout' : 'aborted'
}

/** The error code of Node or OpenSSL. The message may contain addresses, so it is not used. */
function codeOf (error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
