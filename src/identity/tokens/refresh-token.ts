import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import { isUuid } from '../uuid.ts'

/**
 * Refresh tokens that are computed, not stored: base64url of
 * `00 | session id (16) | counter (uvarint) | HMAC-SHA256 (first 16) | SHA-256 of all before (first 4)`,
 * the layout of Supabase Auth's second version. The session's row stores the current token's counter and no secret.
 */
export interface RefreshToken {
  sessionId: string
  /** 0 to 2^31 - 1. A refresh adds one. A proof of a second factor jumps to the next multiple of `PROOF_STEP`. */
  counter: number
}

/**
 * After each proof of a second factor, the counter continues at the next multiple of this, so that it identifies tokens
 * from before the proof. In 90 days of hourly refreshes a session uses 2,160. With more refreshes between two proofs, a
 * session only loses the repeat of one token in this many.
 */
export const PROOF_STEP = 4096

/** Milliseconds after a refresh in which an older token counts as one of a client that lost the response. */
export const REUSE_INTERVAL_MS = 10_000
/** How many doubtful repeats a session may have in a day. Two holders of the same token need one at each turn. */
const DOUBTFUL_A_DAY = 3

const VERSION = 0
const ID_END = 17
const MAC_BYTES = 16
const CHECKSUM_BYTES = 4
const MAX_COUNTER = 2 ** 31 - 1
/** 38 to 42 bytes. */
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

/** The content of a token; undefined for any text that `encodeRefreshToken` did not create with this secret. */
export function decodeRefreshToken (secret: Buffer, text: string): RefreshToken | undefined {
  if (!SPELLING.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64url')
  // The last character may carry bits that belong to no byte.
  if (bytes.toString('base64url') !== text) return undefined
  const signed = bytes.subarray(0, -CHECKSUM_BYTES)
  if (!checksum(signed).equals(bytes.subarray(-CHECKSUM_BYTES))) return undefined
  const body = signed.subarray(0, -MAC_BYTES)
  if (body[0] !== VERSION || !timingSafeEqual(mac(secret, body), signed.subarray(-MAC_BYTES))) return undefined
  const counter = readUvarint(body.subarray(ID_END))
  return counter === undefined ? undefined : { sessionId: uuid(body.subarray(1, ID_END)), counter }
}

/**
 * A received refresh token and its session; times in ms. `repeats`: how many doubtful repeats the session has had
 * today.
 */
export interface Refresh {
  tokenCounter: number
  sessionCounter: number
  lastRefreshMs: number
  nowMs: number
  repeats: number
}

/**
 * `rotate`: the current token, the next one is issued. `repeat`: the client lost an answer, the current token is
 * returned again. `doubtful`: like `repeat`, but the token may be a copy: the previous one after the interval, or an
 * older one within it. `reused`: a copy, the session ends: an older token after the interval, or too many doubtful
 * repeats in a day. `void`: a token from before a proof of a second factor, which must not yield the tokens of the
 * proven session. It ends nothing: the client may have lost the answer to the proof, or its own refresh came second.
 * `invalid`: there is no such token yet.
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

/** Each session has its own key, derived from its id, so no secret is stored. */
function mac (secret: Buffer, body: Buffer): Buffer {
  const key = createHmac('sha256', secret).update(body.subarray(1, ID_END)).digest()
  return createHmac('sha256', key).update(body).digest().subarray(0, MAC_BYTES)
}

/** Tells a mistyped or truncated token from a forged one. It protects nothing. */
function checksum (signed: Buffer): Buffer {
  return hash('sha256', signed, 'buffer').subarray(0, CHECKSUM_BYTES)
}

/** Seven bits per byte, lowest first, the top bit set on all but the last (Go's `encoding/binary`, protobuf). */
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
