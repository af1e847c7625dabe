import fp from 'fastify-plugin'
import type { OcrBody, OcrResponse } from '#schemas/ocr.ts'
import type { Config } from '#src/config/config.ts'
import { serverOf } from '#src/lib/addresses.ts'
import type { Clock } from '#src/lib/time.ts'
import { externalProvider } from '../text/external.ts'
import { textEngine, type TextEngine } from '../text/text-engine.ts'
import { documentReader, type Reading, type TextSource } from './read-document.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Reads the image of a document, and stores nothing.
     * @throws CampiNonValidi, ContenutoTroppoGrande (413), ServizioOccupato (503), and the errors of the OCR engine
     */
    readDocument (body: OcrBody, reading: Reading): Promise<OcrResponse>
  }
}

interface ReadingOptions {
  config: Config
  clock: Clock
  /** For tests: timeout of an OCR provider's response. */
  ocrTimeoutMs?: number | undefined
}

/** The local OCR engine: images do not leave this machine. */
function ownEngine (engine: Pick<TextEngine, 'read'>): TextSource {
  return {
    kind: 'engine',
    turnsByItself: false,
    read: async ({ page }, { caller, signal, ...options }) =>
      page === null ? '' : await engine.read({ page, ...options }, caller, signal)
  }
}

/** Decorates the app with the reader of documents, for other areas too. Registered before the areas. */
export default fp<ReadingOptions>(async function documentReading (app, { config, clock, ocrTimeoutMs }) {
  app.decorate('readDocument', documentReader(app, { clock, texts: textSource() }))

  /** The configured provider, else the local engine. */
  function textSource (): TextSource {
    const { OCR_PROVIDER: name, OCR_PROVIDER_URL: url, OCR_PROVIDER_KEY: key } = config
    if (name !== undefined && url !== undefined && key !== undefined) {
      app.addHealthCheck({ setting: 'OCR_PROVIDER_URL', ...serverOf(url) })
      return externalProvider({ name, url, key, log: app.log, timeoutMs: ocrTimeoutMs })
    }
    const engine = textEngine()
    app.addHook('onClose', engine.close)
    return ownEngine(engine)
  }
}, { name: 'document-reading', dependencies: ['images', 'workers', 'guest-codes'] })
