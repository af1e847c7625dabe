import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request as plainRequest } from 'node:http'
import { request } from 'node:https'
import { isIPv6, type LookupFunction } from 'node:net'
import { limitedSignal } from '#src/lib/limited-signal.ts'
import type { Receivers } from './receivers.ts'

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
/** Codes of errors as Node has them; other errors are told by their name. */
const CODE = /^[A-Z][A-Z0-9_]{1,60}$/

/** The receiver speaks another protocol from here on: the answer has no body. */
const SWITCHING = 101
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
      return { stato_http: null, errore: limit.isTooLate() ? 'TEMPO_SCADUTO' : codeOf(err) }
    } finally {
      limit.end()
    }
  }
}

async function exchange (receivers: Receivers, { url: text, headers, body }: Message, signal: AbortSignal) {
  const url = new URL(text)
  const addresses = await unlessAborted(receivers.addressesOf(url), signal)
  const lookup = pinned(addresses)
  const options = { method: 'POST', agent: false, signal, lookup, headers: withLength(headers, body) }
  const sending: ClientRequest = url.protocol === 'http:' ? plainRequest(url, options) : request(url, options)
  // To whoever answers with another protocol (101), which Node tells apart: its connection is nobody's otherwise.
  sending.once('upgrade', (_answer, socket) => { socket.destroy() })
  sending.end(body)
  const [answer] = await Promise.race(['response', 'upgrade'].map((name) => once(sending, name, { signal }))) as
    [IncomingMessage]
  if (answer.statusCode !== SWITCHING) await readSome(answer)
  sending.destroy()
  return answer
}

/** A name server may be silent for longer than an attempt lasts. */
function unlessAborted<T> (work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(new DOMException('the attempt is over', 'AbortError'))
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject)
  })
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

function withLength (headers: Message['headers'], body: string): Record<string, string | number> {
  return { ...headers, 'content-length': Buffer.byteLength(body) }
}

function codeOf (err: unknown): string {
  if (!(err instanceof Error)) return 'ERRORE'
  const code = 'code' in err ? String(err.code) : ''
  return CODE.test(code) ? code : err.name
}
