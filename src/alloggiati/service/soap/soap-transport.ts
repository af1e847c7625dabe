import { request as httpRequest, type IncomingMessage } from 'node:http'
import { type Socket, connect as connectTcp, isIP } from 'node:net'
import { safeAddress } from '#src/lib/addresses.ts'
import { SoapTransportError, type FailureKind } from './errors.ts'
import { connect as connectTls, createSecureContext, getCACertificates, type SecureContext } from 'node:tls'

export interface TransportOptions extends ConnectionOptions {
  endpoint: string | URL
  /** Milliseconds for a whole call, from the name lookup to the last byte of the reply. */
  timeoutMs: number
  maxBytes: number
}

export interface CallOptions {
  /**
   * Awaited when the connection stands and before the first byte of the request is written: the place to record that
   * the call is about to happen. If it rejects, nothing is sent.
   */
  beforeWrite?: () => Promise<void>
  signal?: AbortSignal
}

export interface HttpReply { status: number, contentType: string, body: Buffer }

const COMMON_HEADERS = { 'User-Agent': 'Locanda', Accept: 'application/soap+xml, text/xml' }

type Post = (body: string, headers: Record<string, string>, options: CallOptions) => Promise<HttpReply>

/**
 * One POST on a connection of its own for each call: no reuse, no retry, no redirect. Connecting, asking the caller and
 * writing are three steps, so that it is always known whether anything was sent.
 * Every failure is a SoapTransportError. Any status but 3xx is a reply.
 */
export function httpClient ({ endpoint, timeoutMs, maxBytes, ...connection }: TransportOptions): Post {
  const url = safeAddress(endpoint)
  const connect = connector(url, connection)

  return async (body, headers, { beforeWrite, signal }) => {
    const deadline = AbortSignal.timeout(timeoutMs)
    const end = signal ? AbortSignal.any([deadline, signal]) : deadline
    const socket = await connect(end)
    const stop = () => socket.destroy()
    end.addEventListener('abort', stop)
    try {
      await ready(socket, end, beforeWrite)
      return await roundTrip(socket, url, Buffer.from(body), headers, maxBytes)
    } catch (error) {
      throw failure(error, end)
    } finally {
      end.removeEventListener('abort', stop)
      stop()
    }
  }
}

/**
 * The last moment at which nothing has been sent. `beforeWrite` is always waited for: what it records must not come
 * after our answer.
 */
async function ready (socket: Socket, end: AbortSignal, beforeWrite: CallOptions['beforeWrite']): Promise<void> {
  try {
    await beforeWrite?.()
  } catch (cause) {
    throw new SoapTransportError('before-write', { sent: false, cause })
  }
  if (end.aborted) throw new SoapTransportError(abortKind(end), { sent: false })
  if (socket.destroyed || !socket.writable) throw new SoapTransportError('reset', { sent: false })
}

function roundTrip (
  socket: Socket, url: URL, body: Buffer, headers: Record<string, string>, maxBytes: number
): Promise<HttpReply> {
  return new Promise((resolve, reject) => {
    // Plain HTTP also over TLS: the socket is ours. Without an agent Node says `Connection: close`.
    const request = httpRequest({
      method: 'POST',
      path: url.pathname + url.search,
      headers: { Host: url.host, ...COMMON_HEADERS, ...headers, 'Content-Length': body.length },
      createConnection: () => socket
    })
    request.on('error', reject)
    request.on('response', (response) => {
      read(response, maxBytes).then(resolve, reject)
    })
    request.end(body)
  })
}

async function read (response: IncomingMessage, maxBytes: number): Promise<HttpReply> {
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
    if (size > maxBytes) throw refused('too-large')
    chunks.push(chunk)
  }
  return { status, contentType: response.headers['content-type'] ?? '', body: Buffer.concat(chunks, size) }
}

function failure (error: unknown, end: AbortSignal): SoapTransportError {
  if (error instanceof SoapTransportError) return error
  if (end.aborted) return new SoapTransportError(abortKind(end), { sent: true })
  const reason = codeOf(error)
  return new SoapTransportError(reason?.startsWith('HPE_') ? 'malformed' : 'reset', { sent: true, reason })
}

const KIND_OF_CODE: Record<string, FailureKind> = {
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  EAI_FAIL: 'dns',
  ECONNREFUSED: 'refused',
  ETIMEDOUT: 'connect-timeout'
}

interface ConnectionOptions {
  /** PEM certificates that are trusted besides the system's. */
  ca?: string | Buffer
  connectTimeoutMs: number
}

/**
 * Opens fresh connections to one address: with TLS, always verified, when it is https. Nothing of the request is
 * written. Every failure is a SoapTransportError with `sent: false`.
 */
function connector (
  endpoint: URL, { ca, connectTimeoutMs }: ConnectionOptions
): (signal: AbortSignal) => Promise<Socket> {
  const secure = endpoint.protocol === 'https:'
  const host = endpoint.hostname.replace(/^\[|\]$/g, '')
  const port = Number(endpoint.port || (secure ? 443 : 80))
  let context: SecureContext | undefined

  function startSocket (): Socket {
    if (!secure) return connectTcp({ host, port })
    // Kept: with own certificates the whole list of roots is read again for each new context.
    context ??= createSecureContext({
      minVersion: 'TLSv1.2',
      ca: ca === undefined ? undefined : [...getCACertificates('default'), ca]
    })
    return connectTls({
      host,
      port,
      servername: isIP(host) === 0 ? host : undefined,
      secureContext: context,
      rejectUnauthorized: true
    })
  }

  return (signal) => open({ startSocket, secure, connectTimeoutMs }, signal)
}

interface Opening { startSocket: () => Socket, secure: boolean, connectTimeoutMs: number }

function open ({ startSocket, secure, connectTimeoutMs }: Opening, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(notSent(abortKind(signal)))
    let socket: Socket
    try {
      socket = startSocket()
    } catch (error) {
      return reject(notSent('tls', codeOf(error)))
    }
    let connected = false
    const timer = setTimeout(() => fail('connect-timeout'), connectTimeoutMs)
    const onAbort = () => fail(abortKind(signal))
    const stopWaiting = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    }
    const fail = (kind: FailureKind, reason?: string) => {
      stopWaiting()
      socket.destroy()
      reject(notSent(kind, reason))
    }
    signal.addEventListener('abort', onAbort)
    socket.once('connect', () => {
      connected = true
    })
    // Stays on: an idle socket that breaks must not bring the process down, its next user sees it destroyed.
    socket.on('error', (error) => {
      const code = codeOf(error)
      fail(connected && secure ? 'tls' : (KIND_OF_CODE[code ?? ''] ?? 'unreachable'), code)
    })
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      stopWaiting()
      resolve(socket)
    })
  })
}

/** Why a signal ended a call: its time was over, or the caller gave up. */
export function abortKind ({ reason }: AbortSignal): FailureKind {
  return reason instanceof Error && reason.name === 'TimeoutError' ? 'timeout' : 'aborted'
}

/** The code that Node or OpenSSL gives to an error; its message may hold addresses and is not used. */
function codeOf (error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

function notSent (kind: FailureKind, reason?: string): SoapTransportError {
  return new SoapTransportError(kind, { sent: false, reason })
}
