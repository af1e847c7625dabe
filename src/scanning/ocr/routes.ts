import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { IMAGE_BODY_MAX, SOURCE_WORDS } from '#schemas/image.ts'
import { OcrResponse, OcrBody } from '#schemas/ocr.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import type { Clock } from '#src/lib/time.ts'
import { LIMIT_WORDS } from '#src/services/images/image-limits.ts'
import { disconnectSignal } from '#src/http/client-disconnects.ts'
import { documentReader, type TextSource } from './read-document.ts'

const route = routesUnder('Scansione')

const ocrRoute = {
  bodyLimit: IMAGE_BODY_MAX,
  ...route(
    { access: 'auth', holdsBody: true, heavy: true },
    'ocr', 'Legge il testo e la zona a lettura ottica nell’immagine di un documento', {
      errorCodes: [
        'CONTENUTO_TROPPO_GRANDE', 'IMMAGINE_TROPPO_GRANDE', 'LAVORO_NON_RIUSCITO', 'LAVORO_TROPPO_LUNGO',
        'OCR_NON_DISPONIBILE', 'OCR_QUOTA_ESAURITA', 'OCR_IMMAGINE_TROPPO_GRANDE', 'OCR_CREDENZIALI_RIFIUTATE',
        'OCR_RISPOSTA_NON_VALIDA'
      ],
      description:
        `${SOURCE_WORDS}, di al massimo 10 MiB, ${LIMIT_WORDS}, comunque sia girata; si consigliano 300 DPI. ` +
        'L’immagine non si conserva. Con solo_mrz la risposta non aspetta il testo.',
      body: OcrBody,
      response: { 200: OcrResponse }
    }
  )
}

interface OcrOptions { clock: Clock, texts: TextSource }

/** Reads text and zone of a document's image. Stores nothing. */
export const ocrRoutes: FastifyPluginAsyncTypebox<OcrOptions> = async (app, { clock, texts }) => {
  const readDocument = documentReader(app, { clock, texts })

  app.post('/api/ocr', ocrRoute, async (request, reply) =>
    await readDocument(request.body, { caller: request.principal!.id, signal: disconnectSignal(reply) }))
}
