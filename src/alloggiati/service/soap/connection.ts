import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, createSecureContext, getCACertificates, type SecureContext } from 'node:tls'
import { SoapTransportError, type FailureKind } from './errors.ts'

const KIND_OF_CODE: Record<string, FailureKind> = {
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  EAI_FAIL: 'dns',
  ECONNREFUSED: 'refused',
  ETIMEDOUT: 'connect-timeout'
}

export interface ConnectionOptions {
  /** PEM certificates that are trusted besides the system's. */
  ca?: string | Buffer
  /** Milliseconds for name, TCP and TLS together. */
  connectTimeoutMs: number
}

/**
 * Opens fresh connections to one address: with TLS, always verified, when it is https. Nothing of the request is
 * written. Every failure is a SoapTransportError with `sent: false`.
 */
export function connector (
  endpoint: URL,
  { ca, connectTimeoutMs }: ConnectionOptions
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

  return (signal) =>
    new Promise((resolve, reject) => {
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
export function codeOf (error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

function notSent (kind: FailureKind, reason?: string): SoapTransportError {
  return new SoapTransportError(kind, { sent: false, reason })
}
