import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { OCR_ERRORS } from '#schemas/errors/groups.ts'
import { IMAGE_BODY_MAX, SOURCE_WORDS } from '#schemas/image.ts'
import { OcrResponse, OcrBody } from '#schemas/ocr.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import { LIMIT_WORDS } from '#src/services/images/image-limits.ts'
import { disconnectSignal } from '#src/http/client-disconnects.ts'

const route = routesUnder('Scansione')

const ocrRoute = {
  bodyLimit: IMAGE_BODY_MAX,
  ...route(
    { access: 'auth', holdsBody: true, heavy: true },
    'ocr', 'Legge il testo e la zona a lettura ottica nell’immagine di un documento', {
      errorCodes: [...OCR_ERRORS],
      description:
        `${SOURCE_WORDS}, di al massimo 10 MiB, ${LIMIT_WORDS}, comunque sia girata; si consigliano 300 DPI. ` +
        'L’immagine non si conserva. Con solo_mrz la risposta non aspetta il testo.',
      body: OcrBody,
      response: { 200: OcrResponse }
    }
  )
}

/** Reads text and zone of a document's image. Stores nothing. */
export const ocrRoutes: FastifyPluginAsyncTypebox = async (app) => {
  app.post('/api/ocr', ocrRoute, async (request, reply) =>
    await app.readDocument(request.body, { caller: request.principal!.id, signal: disconnectSignal(reply) }))
}
