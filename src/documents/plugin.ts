import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { DocumentImage, DocumentImagePart, DocumentParams } from '#schemas/document.ts'
import { DOWNLOAD_ERRORS } from '#schemas/errors/groups.ts'
import { IMAGE_STATES } from '#schemas/privacy.ts'
import { REPORT_DEFAULTS, storedFile, type PersonalDataReport } from '#src/bookings/index.ts'
import type { Config } from '#src/config/config.ts'
import type { Transaction } from '#src/database/connect.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Clock } from '#src/lib/time.ts'
import type { FileService } from '#src/services/files/file-service.ts'
import { DocumentoNonTrovato } from './errors.ts'
import { DOCUMENTS, bookingPrefix, guestPrefix, sidePrefix } from './image-names.ts'
import { imageRetention, type ImageRetention } from './image-retention.ts'
import { imageUploads } from './image-uploads.ts'

/** The images in the personal-data report of a booking. */
function imageReport (
  { files, retention }: { files: FileService, retention: Pick<ImageRetention, 'statusesOf'> }
): PersonalDataReport {
  return {
    async describe (db, booking) {
      const images = await retention.statusesOf(db, await files.findByPrefix(db, DOCUMENTS, bookingPrefix(booking)))
      return images.map(({ guest, side, stato, until }) => ({
        ...REPORT_DEFAULTS,
        cosa: 'immagine_documento',
        ospite: guest,
        lato: side,
        stato,
        fino_a: until,
        motivo: IMAGE_STATES[stato]
      }))
    },

    async files (db, booking) {
      const images = await files.findByPrefix(db, DOCUMENTS, bookingPrefix(booking))
      // `documenti/<guest>/<side>.<extension>`
      return images.map((image) =>
        storedFile(files, `documenti/${image.name.slice(bookingPrefix(booking).length)}`, image))
    }
  }
}

const route = routesUnder('Documenti')

interface DocumentsOptions { config: Config, keys: Keys, clock: Clock }

const downloadRoute = route({ access: 'auth' }, 'getDocumento', 'L’immagine di un lato del documento di un ospite', {
  errorCodes: ['DOCUMENTO_NON_TROVATO', ...DOWNLOAD_ERRORS],
  params: DocumentParams,
  response: { 200: DocumentImage, 206: DocumentImagePart, 304: Type.Null() }
})

/** Images of the guests' identity documents. They are deleted with the guest or the booking. */
const documents: FastifyPluginAsyncTypebox<DocumentsOptions> = async (app, { config, keys, clock }) => {
  const { db, files } = app
  const retention = imageRetention(app, { config, keys, clock })

  app.addPersonalDataReport(imageReport({ files, retention }))
  app.addJob({
    name: 'image-retention',
    description: 'Elimina le immagini dei documenti a IMAGE_RETENTION_DAYS giorni dalla ricevuta che copre l’ospite',
    cron: '10 3 * * *',
    run: retention.purge
  })

  app.addBookingHook('beforeDelete', (tx, ids) => discard(tx, ids.map(bookingPrefix)))
  app.addBookingHook('guestsRemoved', (tx, booking, removed) =>
    discard(tx, removed.map((guest) => guestPrefix(booking, guest))))
  // Without this hook a repeated request would report that a deleted image is stored.
  app.addDiscardHook(DOCUMENTS, (tx, names, { isReplaced }) =>
    app.eraseResponses(tx, { said: `"path":"${DOCUMENTS}/([^"]+)"`, names, isReusable: true, isReplaced }))

  async function discard (tx: Transaction, prefixes: readonly string[]): Promise<void> {
    await files.discard(tx, await files.findByPrefixes(tx, DOCUMENTS, prefixes))
  }

  await app.register(imageUploads, { config })

  app.get('/api/documents/:booking_id/:guest_idx/:side', downloadRoute, async (request, reply) => {
    const [image] = await files.findByPrefix(db, DOCUMENTS, sidePrefix(request.params))
    if (!image) throw new DocumentoNonTrovato()
    return await reply.sendObject(image)
  })
}
export default documents
