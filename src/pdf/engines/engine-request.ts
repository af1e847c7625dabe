import { setTimeout as sleep } from 'node:timers/promises'
import { exchange, ExchangeError, type Exchanged, type ExchangeRequest } from '#src/services/http-exchange.ts'
import {
  MotorePdfIncomprensibile, MotorePdfIrraggiungibile, MotorePdfOccupato, MotorePdfRifiuta, MotorePdfTroppoLento
} from './errors.ts'

/** Timeout of one request. APITemplate may take 100 seconds, which is too long for the clients of this server. */
const TIMEOUT_MS = 45_000
/** Maximum pause before a retry, even if the engine's Retry-After asks for more. */
const PAUSE_MAX_MS = 5_000
/** Pause without a valid Retry-After. */
const PAUSE_SECONDS = 0.5
/** Maximum size of a response. */
const BYTES_MAX = 64 * 1024 * 1024

interface EngineRequest extends Omit<ExchangeRequest,
  'timeoutMs' | 'bytesMax'> { timeoutMs?: number | undefined }

/**
 * Sends a request to the engine and returns the response body.
 * @throws an error of `errors.ts`
 */
export async function sendRequest (url: URL, engineRequest: EngineRequest): Promise<Buffer> {
  return bytesOf(await exchanged(url, engineRequest))
}

/**
 * Sends a request that creates a PDF and may be billed. It is retried once, and only after a refused connection or a
 * 429, because then the engine has created no PDF.
 * @throws an error of `errors.ts`
 */
export async function sendBillableRequest (url: URL, engineRequest: EngineRequest): Promise<Buffer> {
  const first = await exchanged(url, engineRequest)
  if (first !== undefined && first.status !== 429) return bytesOf(first)
  const seconds = Number(first?.headers.get('retry-after') ?? PAUSE_SECONDS)
  const wanted = (Number.isFinite(seconds) ? seconds : PAUSE_SECONDS) * 1000
  await sleep(Math.min(PAUSE_MAX_MS, Math.max(0, wanted)), undefined, { signal: engineRequest.signal }).catch(() => {})
  return bytesOf(await exchanged(url, engineRequest))
}

/** @throws MotorePdfIncomprensibile when the bytes do not start with a PDF header */
export function asPdf (bytes: Buffer): Buffer {
  if (bytes.toString('latin1', 0, 5) !== '%PDF-') throw new MotorePdfIncomprensibile()
  return bytes
}

/**
 * Sends the request, and returns the response. Undefined after a refused connection.
 * @throws an error of `errors.ts` when there is no response
 */
async function exchanged (
  url: URL, { timeoutMs = TIMEOUT_MS, ...engineRequest }: EngineRequest
): Promise<Exchanged | undefined> {
  try {
    return await exchange(url, { ...engineRequest, timeoutMs, bytesMax: BYTES_MAX })
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

function bytesOf (response: Exchanged | undefined): Buffer {
  if (response === undefined || response.status >= 500) throw new MotorePdfIrraggiungibile()
  if (response.status === 429) throw new MotorePdfOccupato()
  if (response.status < 200 || response.status > 299) throw new MotorePdfRifiuta(`HTTP ${response.status}`)
  return response.bytes
}
