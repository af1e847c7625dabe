import { setTimeout as sleep } from 'node:timers/promises'
import { exchange, ExchangeError, type Exchanged, type ExchangeRequest } from '#src/services/http-exchange.ts'
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

export interface Asked extends Omit<ExchangeRequest, 'patienceMs' | 'bytesMax'> { patienceMs?: number | undefined }

/**
 * The bytes of an engine's answer.
 * @throws the errors of `errors.ts`
 */
export async function ask (url: URL, asked: Asked): Promise<Buffer> {
  return bytesOf(await exchanged(url, asked))
}

/**
 * The same of a request by which something is made, and perhaps billed. It is asked again, once, after a refused
 * connection and a 429 alone: nothing was made.
 */
export async function askToMake (url: URL, asked: Asked): Promise<Buffer> {
  const first = await exchanged(url, asked)
  if (first !== undefined && first.status !== 429) return bytesOf(first)
  const seconds = Number(first?.headers.get('retry-after') ?? PAUSE_SECONDS)
  const wanted = (Number.isFinite(seconds) ? seconds : PAUSE_SECONDS) * 1000
  await sleep(Math.min(PAUSE_MAX_MS, Math.max(0, wanted)), undefined, { signal: asked.signal }).catch(() => {})
  return bytesOf(await exchanged(url, asked))
}

/** @throws MotorePdfIncomprensibile for what does not begin as a PDF */
export function asPdf (bytes: Buffer): Buffer {
  if (bytes.toString('latin1', 0, 5) !== '%PDF-') throw new MotorePdfIncomprensibile()
  return bytes
}

/** Undefined after a refused connection. */
async function exchanged (
  url: URL, { patienceMs = PATIENCE_MS, ...asked }: Asked
): Promise<Exchanged | undefined> {
  try {
    return await exchange(url, { ...asked, patienceMs, bytesMax: BYTES_MAX })
  } catch (err) {
    if (!(err instanceof ExchangeError)) throw err
    switch (err.fault) {
      case 'refused': return undefined
      case 'too-late': throw new MotorePdfTroppoLento()
      case 'too-large': throw new MotorePdfIncomprensibile()
      case 'unreachable': throw new MotorePdfIrraggiungibile()
    }
  }
}

function bytesOf (answer: Exchanged | undefined): Buffer {
  if (answer === undefined || answer.status >= 500) throw new MotorePdfIrraggiungibile()
  if (answer.status === 429) throw new MotorePdfOccupato()
  if (answer.status < 200 || answer.status > 299) throw new MotorePdfRifiuta(`HTTP ${answer.status}`)
  return answer.bytes
}
