import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import { isUuid } from '../uuid.ts'

/**
 * Refresh tokens are computed, not stored. The format is base64url of `00 | session id (16) | counter (uvarint) |
 * HMAC-SHA256 (first 16) | SHA-256 of all before (first 4)`, the layout of Supabase Auth's second version. The
 * session's row stores the counter of the current token, and no secret.
 */
export interface RefreshToken {
  sessionId: string
  /** 0 to 2^31 - 1. A refresh adds one. After a proof of a second factor it is the next multiple of `PROOF_STEP`. */
  counter: number
}

/**
 * After each proof of a second factor, the counter continues at the next multiple of this number. So it shows whether a
 * token is from before the proof. In 90 days of hourly refreshes the counter rises by 2,160.
 */
export const PROOF_STEP = 4096

/** Milliseconds after a refresh. In this time an older token means that the client may have lost the response. */
export const REUSE_INTERVAL_MS = 10_000
/** Maximum doubtful repeats of a session in a day. Two holders of the same token need one at each refresh. */
const DOUBTFUL_A_DAY = 3

const VERSION = 0
const ID_END = 17
const MAC_BYTES = 16
const CHECKSUM_BYTES = 4
const MAX_COUNTER = 2 ** 31 - 1
/** The base64url text of 38 to 42 bytes. */
const SPELLING = /^[A-Za-z0-9_-]{51,56}$/

/** @throws RangeError when the session id is not a UUID or the counter out of bounds */
export function encodeRefreshToken (secret: Buffer, { sessionId, counter }: RefreshToken): string {
  if (!isUuid(sessionId)) throw new RangeError('The session id is not a UUID')
  if (!Number.isInteger(counter) || counter < 0 || counter > MAX_COUNTER) {
    throw new RangeError('The counter is out of bounds')
  }
  const body = Buffer.concat([Buffer.of(VERSION), Buffer.from(sessionId.replaceAll('-', ''), 'hex'), uvarint(counter)])
  const signed = Buffer.concat([body, mac(secret, body)])
  return Buffer.concat([signed, checksum(signed)]).toString('base64url')
}

/** The content of a token. Undefined for any text that `encodeRefreshToken` did not create with this secret. */
export function decodeRefreshToken (secret: Buffer, text: string): RefreshToken | undefined {
  if (!SPELLING.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64url')
  // The last character may contain bits that belong to no byte.
  if (bytes.toString('base64url') !== text) return undefined
  const signed = bytes.subarray(0, -CHECKSUM_BYTES)
  if (!checksum(signed).equals(bytes.subarray(-CHECKSUM_BYTES))) return undefined
  const body = signed.subarray(0, -MAC_BYTES)
  if (body[0] !== VERSION || !timingSafeEqual(mac(secret, body), signed.subarray(-MAC_BYTES))) return undefined
  const counter = readUvarint(body.subarray(ID_END))
  return counter === undefined ? undefined : { sessionId: uuid(body.subarray(1, ID_END)), counter }
}

/**
 * A received refresh token and its session. Times in ms. `repeats` is the number of today's doubtful repeats of the
 * session.
 */
export interface Refresh {
  tokenCounter: number
  sessionCounter: number
  lastRefreshMs: number
  nowMs: number
  repeats: number
}

/**
 * `rotate`: it is the current token, and the next one is issued. `repeat`: the client lost a response, and the current
 * token is returned again. `doubtful`: like `repeat`, but the token may be a copy. It is the previous token after the
 * interval, or an older one within it. `reused`: the token is a copy, and the session ends. It is an older token after
 * the interval, or a doubtful repeat above the limit of a day. `void`: the token is from before a proof of a second
 * factor, and gives no new token. The session continues, because the client may have lost the response to the proof.
 * `invalid`: no such token was issued yet.
 */
export function classifyRefresh ({
  tokenCounter, sessionCounter, lastRefreshMs, nowMs, repeats
}: Refresh): 'rotate' | 'repeat' | 'doubtful' | 'reused' | 'void' | 'invalid' {
  const behind = sessionCounter - tokenCounter
  if (behind < 0) return 'invalid'
  if (behind === 0) return 'rotate'
  if (proofs(tokenCounter) < proofs(sessionCounter)) return 'void'
  const isLate = nowMs - lastRefreshMs >= REUSE_INTERVAL_MS
  if (behind === 1 && !isLate) return 'repeat'
  return (behind > 1 && isLate) || repeats >= DOUBTFUL_A_DAY ? 'reused' : 'doubtful'
}

function proofs (counter: number): number {
  return Math.floor(counter / PROOF_STEP)
}

/** Each session has its own key, which is derived from its id, so no secret is stored. */
function mac (secret: Buffer, body: Buffer): Buffer {
  const key = createHmac('sha256', secret).update(body.subarray(1, ID_END)).digest()
  return createHmac('sha256', key).update(body).digest().subarray(0, MAC_BYTES)
}

/** Distinguishes a mistyped or truncated token from a forged one. It does not protect against forgery. */
function checksum (signed: Buffer): Buffer {
  return hash('sha256', signed, 'buffer').subarray(0, CHECKSUM_BYTES)
}

/** Seven bits per byte, lowest first. All bytes except the last have the top bit (Go's `encoding/binary`). */
function uvarint (value: number): Buffer {
  const bytes: number[] = []
  for (; value >= 0x80; value >>>= 7) bytes.push(value & 0x7f | 0x80)
  return Buffer.of(...bytes, value)
}

function readUvarint (bytes: Buffer): number | undefined {
  const value = bytes.reduce((sum, byte, at) => sum + (byte & 0x7f) * 2 ** (7 * at), 0)
  return value <= MAX_COUNTER && uvarint(value).equals(bytes) ? value : undefined
}

function uuid (bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
