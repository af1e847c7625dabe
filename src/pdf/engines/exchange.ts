import { setTimeout as sleep } from 'node:timers/promises'
import { limitedSignal } from '#src/lib/limited-signal.ts'
import {
  MotorePdfIncomprensibile, MotorePdfIrraggiungibile, MotorePdfOccupato, MotorePdfRifiuta, MotorePdfTroppoLento
} from './errors.ts'

/** Milliseconds for one answer: APITemplate takes up to 100 seconds, nobody waits so long here. */
const PATIENCE_MS = 45_000
/** At most so long is waited where the engine says when to come back. */
const PAUSE_MAX_MS = 5_000
const PAUSE_SECONDS = 0.5
/** Bytes of an answer. */
const BYTES_MAX = 64 * 1024 * 1024

export interface Asked extends RequestInit {
  /** Something is made by it, and perhaps billed: it is asked once more only where it was certainly not done. */
  makes?: boolean
  patienceMs?: number | undefined
}

/** An answer with the status 2xx, whole. */
export interface Answer { bytes: Buffer }

/**
 * One exchange with an engine. Redirections are not followed: they would lead anywhere. Asked again, once, is after a
 * refused connection and a 429 alone: nothing was made, and nothing billed.
 * @throws the errors of `errors.ts`
 */
export async function exchange (url: URL, asked: Asked): Promise<Answer> {
  const { patienceMs = PATIENCE_MS, ...rest } = asked
  const limit = limitedSignal(rest.signal ? [rest.signal] : [], patienceMs)
  try {
    return await exchangeWithin(url, rest, limit.signal)
  } finally {
    limit.end()
  }
}

async function exchangeWithin (url: URL, asked: Omit<Asked, 'patienceMs'>, signal: AbortSignal): Promise<Answer> {
  const { makes = false, ...init } = asked
  const ask = () => fetch(url, { ...init, signal, redirect: 'manual' }).catch((err: unknown) => {
    if (isRefused(err)) return undefined
    throw signal.aborted ? new MotorePdfTroppoLento() : new MotorePdfIrraggiungibile()
  })
  let response = await ask()
  if (makes && (response === undefined || response.status === 429)) {
    await response?.body?.cancel()
    await pause(response, signal)
    response = await ask()
  }
  if (response === undefined) throw new MotorePdfIrraggiungibile()
  if (!response.ok) {
    await response.body?.cancel()
    throw refusal(response.status)
  }
  return { bytes: await whole(response, signal) }
}

/** As long as the engine says, within bounds. */
async function pause (response: Response | undefined, signal: AbortSignal): Promise<void> {
  const seconds = Number(response?.headers.get('retry-after') ?? PAUSE_SECONDS)
  const wanted = Number.isFinite(seconds) ? seconds * 1000 : PAUSE_SECONDS * 1000
  await sleep(Math.min(PAUSE_MAX_MS, Math.max(0, wanted)), undefined, { signal }).catch(() => {})
}

function refusal (status: number): Error {
  if (status === 429) return new MotorePdfOccupato()
  return status >= 500 ? new MotorePdfIrraggiungibile() : new MotorePdfRifiuta(`HTTP ${status}`)
}

async function whole (response: Response, signal: AbortSignal): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const piece of response.body ?? []) {
      bytes += piece.length
      if (bytes > BYTES_MAX) throw new MotorePdfIncomprensibile()
      pieces.push(piece)
    }
  } catch (err) {
    if (err instanceof MotorePdfIncomprensibile) throw err
    throw signal.aborted ? new MotorePdfTroppoLento() : new MotorePdfIrraggiungibile()
  }
  return Buffer.concat(pieces)
}

function isRefused (err: unknown): boolean {
  const cause = err instanceof Error ? err.cause : undefined
  return cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED'
}

/** @throws MotorePdfIncomprensibile for what does not begin as a PDF */
export function asPdf ({ bytes }: Answer): Buffer {
  if (bytes.toString('latin1', 0, 5) !== '%PDF-') throw new MotorePdfIncomprensibile()
  return bytes
}
