import { request as httpRequest, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { abortKind, codeOf, connector, type ConnectionOptions } from './connection.ts'
import { safeAddress } from '#src/lib/addresses.ts'
import { SoapTransportError, type FailureKind } from './errors.ts'

export interface TransportOptions extends ConnectionOptions {
  endpoint: string | URL
  /** Milliseconds for a whole call, from the name lookup to the last byte of the reply. */
  timeoutMs: number
  /** The largest reply in bytes. */
  maxBytes: number
}

export interface CallOptions {
  /**
   * Awaited when the connection stands and before the first byte of the request is written: the place to record that
   * the call is about to happen. If it rejects, nothing is sent.
   */
  beforeWrite?: () => Promise<void>
  /** Ends the call; before the first byte nothing is sent. */
  signal?: AbortSignal
}

export interface HttpReply {
  status: number
  contentType: string
  body: Buffer
}

const COMMON_HEADERS = { 'User-Agent': 'Locanda', Accept: 'application/soap+xml, text/xml' }

export type Post = (body: string, headers: Record<string, string>, options: CallOptions) => Promise<HttpReply>

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
  socket: Socket,
  url: URL,
  body: Buffer,
  headers: Record<string, string>,
  maxBytes: number
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
