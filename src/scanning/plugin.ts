import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Config } from '#src/config/config.ts'
import { serverOf } from '#src/lib/addresses.ts'
import type { Clock } from '#src/lib/time.ts'
import { mrzRoutes } from './mrz/routes.ts'
import { ocrRoutes } from './ocr/routes.ts'
import { textEngine, type TextEngine } from './text/text-engine.ts'
import { externalProvider } from './text/external.ts'
import type { TextSource } from './ocr/read-document.ts'

/** The local OCR engine: images do not leave this machine. */
function ownEngine (engine: Pick<TextEngine, 'read'>): TextSource {
  return {
    kind: 'engine',
    turnsByItself: false,
    read: async ({ page }, { caller, signal, ...options }) =>
      page === null ? '' : await engine.read({ page, ...options }, caller, signal)
  }
}

interface ScanningOptions {
  config: Config
  clock: Clock
  /** For tests: timeout of an OCR provider's response. */
  ocrTimeoutMs?: number | undefined
}

/** Reads identity documents. */
const scanning: FastifyPluginAsyncTypebox<ScanningOptions> = async (app, { config, clock, ocrTimeoutMs }) => {
  await app.register(mrzRoutes, { clock })
  await app.register(ocrRoutes, { clock, texts: textSource() })

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
}
export default scanning
