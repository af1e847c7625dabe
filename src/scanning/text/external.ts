import type { FastifyBaseLogger } from 'fastify'
import type { OcrProviderName } from '#schemas/config.ts'
import { fairQueue } from '#src/lib/concurrency-limit.ts'
import { exchange, ExchangeError, jsonOf } from '#src/services/http-exchange.ts'
import type { TextSource } from '../ocr/read-document.ts'
import {
  OcrCredenzialiRifiutate, OcrImmagineTroppoGrande, OcrNonDisponibile, OcrQuotaEsaurita, OcrRispostaNonValida
} from './errors.ts'
import { googleVision } from './providers/google-vision.ts'
import type { OcrProvider, ProviderFault, ProviderReading, ProviderRequest } from './providers/ocr-provider.ts'
import { ocrSpace } from './providers/ocr-space.ts'

export interface ExternalSettings {
  name: OcrProviderName
  url: string
  key: string
  log: Pick<FastifyBaseLogger, 'warn'>
  /** Timeout of a whole response in milliseconds. */
  timeoutMs?: number | undefined
}

const PROVIDERS: Readonly<Record<OcrProviderName, OcrProvider>> = {
  'google-vision': googleVision, 'ocr-space': ocrSpace
}
const TIMEOUT_MS = 20_000
/** Limits of concurrent requests to the provider. Callers are served in turn. */
const QUEUE = { slots: 8, waiting: 24, waitMs: 60_000 }
/** Maximum bytes of a response: enough for a page of text with the position of each word. */
const RESPONSE_BYTES_MAX = 8 * 1024 * 1024

const ERRORS: Readonly<Record<ProviderFault, new () => Error>> = {
  key: OcrCredenzialiRifiutate,
  quota: OcrQuotaEsaurita,
  unavailable: OcrNonDisponibile,
  'too-large': OcrImmagineTroppoGrande,
  invalid: OcrRispostaNonValida
}

/**
 * A text source that uses an external provider. The provider gets the image without metadata. Errors and logs contain
 * neither the key nor the provider's messages.
 */
export function externalProvider ({ name, url, key, log, timeoutMs = TIMEOUT_MS }: ExternalSettings): TextSource {
  const provider = PROVIDERS[name]
  const queue = fairQueue(QUEUE)

  async function ask (request: ProviderRequest, signal: AbortSignal): Promise<ProviderReading> {
    try {
      const { status, bytes } = await exchange(url, {
        method: 'POST', ...request, timeoutMs, bytesMax: RESPONSE_BYTES_MAX, signal
      })
      // Some error responses are plain text.
      return provider.read(status, jsonOf(bytes) ?? bytes.toString())
    } catch (err) {
      if (err instanceof ExchangeError) return { fault: 'unavailable' }
      throw err
    }
  }

  return {
    kind: 'provider',
    turnsByItself: true,
    async read ({ jpeg }, { languages, caller, signal }) {
      const leave = await queue.take(caller, [signal])
      const reading = await ask(provider.request(Uint8Array.from(jpeg!), languages, key), signal).finally(leave)
      if ('text' in reading) return reading.text
      log.warn({ provider: name, reason: reading.fault }, 'the OCR provider returned no text')
      throw new ERRORS[reading.fault]()
    }
  }
}
