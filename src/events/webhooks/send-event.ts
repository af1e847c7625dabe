import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request as plainRequest } from 'node:http'
import { request } from 'node:https'
import { isIP, isIPv6, type LookupFunction } from 'node:net'
import { isLoopbackHost } from '#src/lib/addresses.ts'
import { errorCode } from '#src/lib/error-code.ts'
import { limitedSignal } from '#src/lib/limited-signal.ts'
import { isLoopbackAddress, isPublicAddress } from '#src/lib/public-addresses.ts'

/* Sends events to receivers. An administrator chooses their URLs, which must not lead to a private network (SSRF). */

/** Names of this machine or of private networks (RFC 6761, 6762, 8375, ICANN's `internal`). */
const PRIVATE_NAME = /(?:^|\.)(?:localhost|local|internal|home\.arpa|lan|intranet)\.?$/
/** Three name servers that time out take less time than one attempt. */
const DNS = { timeout: 2000, tries: 1 }

/** Resolves a host name to all its IP addresses. */
export type Resolve = (name: string) => Promise<string[]>

/** The URL or one of its IP addresses is not allowed as a receiver. */
class ForbiddenReceiver extends Error {
  readonly code = 'INDIRIZZO_VIETATO'
}

export interface Receivers {
  /** The error of a URL in Italian, found without DNS. Undefined for a valid URL. */
  faultOf (url: string): string | undefined
  /**
   * Resolves a receiver, and checks that all its IP addresses are allowed. The connection must use one of these,
   * because a second DNS query may return another address (DNS rebinding).
   * @throws ForbiddenReceiver, or the DNS error
   */
  addressesOf (url: URL): Promise<string[]>
}

/**
 * @param toLoopback also allows receivers on this machine, even with plain HTTP
 * @param resolve replaced by tests
 */
export function receivers (toLoopback: boolean, resolve: Resolve = resolveName): Receivers {
  const isAllowed = (address: string) => isPublicAddress(address) || (toLoopback && isLoopbackAddress(address))

  function faultOf (text: string): string | undefined {
    if (!URL.canParse(text)) return 'non è un indirizzo completo'
    const { protocol, hostname, port, username, password, hash } = new URL(text)
    const isOwn = toLoopback && isLoopbackHost(hostname)
    if (protocol !== 'https:' && !(protocol === 'http:' && isOwn)) return 'deve essere https'
    if (username !== '' || password !== '') return 'non può contenere credenziali'
    if (hash !== '') return 'non può contenere un frammento (#)'
    if (port === '0') return 'non può avere la porta 0'
    const host = bare(hostname)
    const isClosed = isIP(host) === 0 ? !host.includes('.') || PRIVATE_NAME.test(host) : !isAllowed(host)
    return isClosed && !isOwn ? 'deve essere un indirizzo pubblico' : undefined
  }

  return {
    faultOf,
    async addressesOf (url) {
      // `WEBHOOKS_TO_LOOPBACK` may have changed since the URL was saved.
      if (faultOf(url.href) !== undefined) throw new ForbiddenReceiver()
      const host = bare(url.hostname)
      const addresses = isIP(host) === 0 && host !== 'localhost' ? await resolve(host) : [host]
      const found = host === 'localhost' ? ['127.0.0.1', '::1'] : addresses
      if (found.length === 0 || !found.every(isAllowed)) throw new ForbiddenReceiver()
      return found
    }
  }
}

function bare (hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}

/** Not `dns.lookup`: a silent name server would block the thread pool, which files and passwords need. */
async function resolveName (name: string): Promise<string[]> {
  const resolver = new Resolver(DNS)
  const found = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  const addresses = found.flatMap((each) => each.status === 'fulfilled' ? each.value : [])
  const [first] = found
  if (addresses.length === 0 && first.status === 'rejected') throw first.reason
  return addresses
}

const SECONDS = /^\d+$/

/**
 * Milliseconds until the next attempt, from the header `Retry-After` (RFC 9110, 10.2.3: seconds or a date). Undefined
 * when the header is missing or malformed.
 */
export function retryAfterMs (header: string | undefined, now = Date.now()): number | undefined {
  if (header === undefined) return undefined
  const ms = SECONDS.test(header) ? Number(header) * 1000 : Date.parse(header) - now
  return Number.isNaN(ms) ? undefined : Math.max(ms, 0)
}

/** Maximum bytes read of a response body. Some receivers need a client that reads it, but only the status is used. */
const BODY_MAX = 65_536
/** With this status the receiver asks for no more deliveries (Standard Webhooks). */
export const GONE = 410

/** The outcome of an attempt: an HTTP status, or an error code without a response. */
export interface Outcome {
  stato_http: number | null
  errore: string | null
  /** The value of the header `Retry-After`, in milliseconds. */
  retryAfterMs?: number
}

export interface Message { url: string, headers: Readonly<Record<string, string>>, body: string }

/** Sends a message and returns the outcome. It never rejects. */
export type Send = (message: Message, signal: AbortSignal) => Promise<Outcome>

/**
 * Returns a function that sends one POST on a new connection to a checked IP address, with certificates verified and a
 * time limit. It does not follow redirects.
 */
export function sender (receivers: Receivers, limitMs: number): Send {
  return async (message, signal) => {
    const limit = limitedSignal([signal], limitMs)
    try {
      const { statusCode, headers } = await exchange(receivers, message, limit.signal)
      const wait = retryAfterMs(headers['retry-after'])
      return { stato_http: statusCode!, errore: null, ...(wait === undefined ? {} : { retryAfterMs: wait }) }
    } catch (err) {
      return { stato_http: null, errore: limit.isTooLate() ? 'TEMPO_SCADUTO' : errorCode(err) }
    } finally {
      limit.end()
    }
  }
}

async function exchange (receivers: Receivers, message: Message, signal: AbortSignal) {
  const url = new URL(message.url)
  const addresses = await receivers.addressesOf(url)
  const headers = { ...message.headers, 'content-length': Buffer.byteLength(message.body) }
  const options = { method: 'POST', agent: false, signal, lookup: pinned(addresses), headers }
  const sending: ClientRequest = url.protocol === 'http:' ? plainRequest(url, options) : request(url, options)
  sending.end(message.body)
  const [response] = await once(sending, 'response', { signal }) as [IncomingMessage]
  await readSome(response)
  sending.destroy()
  return response
}

/** Reads up to `BODY_MAX` bytes. An error in the body does not matter, because the status is already known. */
async function readSome (response: IncomingMessage): Promise<void> {
  let size = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > BODY_MAX) return
    }
  } catch {
    // The receiver disconnected, or the attempt timed out.
  }
}

/** A `lookup` that returns the checked IP addresses, so that no other address is contacted. */
function pinned (addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }))
  return (_name, { all: wantsAll }, callback) => {
    if (wantsAll) callback(null, all)
    else callback(null, all[0]!.address, all[0]!.family)
  }
}
