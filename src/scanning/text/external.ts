import type { FastifyBaseLogger } from 'fastify'
import type { OcrProviderName } from '#schemas/config.ts'
import { limitedSignal } from '#src/lib/limited-signal.ts'
import { wholeForm } from '#src/lib/whole-form.ts'
import {
  OcrCredenzialiRifiutate, OcrImmagineTroppoGrande, OcrNonDisponibile, OcrQuotaEsaurita, OcrRispostaNonValida
} from './errors.ts'
import { googleVision } from './providers/google-vision.ts'
import { ocrSpace } from './providers/ocr-space.ts'
import type { Provider, ProviderFault, ProviderReading } from './providers/provider.ts'
import type { TextSource } from './source.ts'

export interface ExternalSettings {
  name: OcrProviderName
  url: string
  key: string
  log: Pick<FastifyBaseLogger, 'warn'>
  /** For a whole answer. */
  timeoutMs?: number | undefined
}

const PROVIDERS: Readonly<Record<OcrProviderName, Provider>> = { 'google-vision': googleVision, 'ocr-space': ocrSpace }
const TIMEOUT_MS = 20_000
/** A page of text, with the place of each word. */
const ANSWER_BYTES_MAX = 8 * 1024 * 1024

const ERRORS: Readonly<Record<ProviderFault, new () => Error>> = {
  key: OcrCredenzialiRifiutate,
  quota: OcrQuotaEsaurita,
  unavailable: OcrNonDisponibile,
  'too-large': OcrImmagineTroppoGrande,
  invalid: OcrRispostaNonValida
}

/**
 * Texts are read by a provider that the settings name: it gets the picture, without its metadata. Neither the key nor
 * what the provider says gets into an error or a log line.
 */
export function externalProvider ({ name, url, key, log, timeoutMs = TIMEOUT_MS }: ExternalSettings): TextSource {
  const provider = PROVIDERS[name]

  async function ask (request: ReturnType<Provider['request']>, signal: AbortSignal): Promise<ProviderReading> {
    const limit = limitedSignal([signal], timeoutMs)
    try {
      const { headers, body } = request
      const whole = body instanceof FormData ? await wholeForm(body) : { body, headers: {} }
      const response = await fetch(url, {
        method: 'POST',
        body: whole.body,
        headers: { ...headers, ...whole.headers },
        // A redirect would send the picture and the key to another server.
        redirect: 'error',
        signal: limit.signal
      })
      return provider.read(response.status, parsed(await bodyOf(response)))
    } catch {
      return { fault: 'unavailable' }
    } finally {
      limit.end()
    }
  }

  return {
    kind: 'provider',
    turnsByItself: true,
    async read ({ jpeg }, { languages, signal }) {
      const reading = await ask(provider.request(Uint8Array.from(jpeg!), languages, key), signal)
      if ('text' in reading) return reading.text
      log.warn({ provider: name, motivo: reading.fault }, 'the OCR provider gave no text')
      throw new ERRORS[reading.fault]()
    }
  }
}

/** @throws RangeError when it is too large */
async function bodyOf (response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    // Leaving the loop closes the connection.
    if (length > ANSWER_BYTES_MAX) throw new RangeError('The answer is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** JSON, or the text itself: some refusals are plain. */
function parsed (text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
