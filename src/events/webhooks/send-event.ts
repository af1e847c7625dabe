import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request as plainRequest } from 'node:http'
import { request } from 'node:https'
import { isIP, isIPv6, type LookupFunction } from 'node:net'
import { isLoopbackHost } from '#src/lib/addresses.ts'
import { errorCode } from '#src/lib/error-code.ts'
import { limitedSignal } from '#src/lib/limited-signal.ts'
import { isLoopbackAddress, isPublicAddress } from '#src/lib/public-addresses.ts'

/* To whom events may be delivered: an administrator names the address, and it must not be one of our own network. */

/** Names that stand for this machine or a private network (RFC 6761, 6762, 8375, ICANN's `internal`). */
const PRIVATE_NAME = /(?:^|\.)(?:localhost|local|internal|home\.arpa|lan|intranet)\.?$/
/** Three silent name servers take less time than an attempt has. */
const DNS = { timeout: 2000, tries: 1 }

/** All IP addresses of a name. */
export type Resolve = (name: string) => Promise<string[]>

/** The receiver is not one to which anything may be sent. */
export class ForbiddenReceiver extends Error {
  readonly code = 'INDIRIZZO_VIETATO'
}

export interface Receivers {
  /** What is wrong with an address, Italian, as far as can be told without asking for it. */
  faultOf (url: string): string | undefined
  /**
   * The IP addresses of a receiver, all of them allowed. The connection must go to one of these: a name that is
   * resolved again may say something else.
   * @throws ForbiddenReceiver; or the error of the resolution
   */
  addressesOf (url: URL): Promise<string[]>
}

/**
 * @param toLoopback this machine may be a receiver, over plain HTTP too
 * @param resolve for tests
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
      // The setting may have been another one when the address was saved.
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

/** By DNS alone, without the threads that files and passwords need: a name server that is silent would hold them up. */
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
 * Milliseconds that a receiver wants to be left alone, by its header `Retry-After` (RFC 9110, 10.2.3: seconds, or a
 * date); undefined where it says nothing that can be understood.
 */
export function retryAfterMs (header: string | undefined, now = Date.now()): number | undefined {
  if (header === undefined) return undefined
  const ms = SECONDS.test(header) ? Number(header) * 1000 : Date.parse(header) - now
  return Number.isNaN(ms) ? undefined : Math.max(ms, 0)
}

/** Of an answer nothing is used but its status; so much of its body is read, for receivers that want it read. */
const BODY_MAX = 65_536
/** The receiver wants nothing more (Standard Webhooks). */
export const GONE = 410

/** What came of one attempt: a status, or a code where no answer came. */
export interface Outcome {
  stato_http: number | null
  errore: string | null
  /** Milliseconds that the receiver wants to be left alone. */
  retryAfterMs?: number
}

export interface Message { url: string, headers: Readonly<Record<string, string>>, body: string }

/** Sends a message and says what came of it; it never fails. */
export type Send = (message: Message, signal: AbortSignal) => Promise<Outcome>

/**
 * One POST: over a connection of its own to an address that was checked, certificates verified, within a time limit,
 * and a redirect is an answer like others.
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
  const [answer] = await once(sending, 'response', { signal }) as [IncomingMessage]
  await readSome(answer)
  sending.destroy()
  return answer
}

/** The status is known by now: how the body ends changes nothing. */
async function readSome (answer: IncomingMessage): Promise<void> {
  let size = 0
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > BODY_MAX) return
    }
  } catch {
    // Cut off, by the receiver or at the time limit.
  }
}

/** Takes the place of the name's resolution: the connection goes to what was checked, and to nothing else. */
function pinned (addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }))
  return (_name, { all: wantsAll }, callback) => {
    if (wantsAll) callback(null, all)
    else callback(null, all[0]!.address, all[0]!.family)
  }
}
