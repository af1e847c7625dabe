import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { DocumentUpload } from '#schemas/document.ts'
import { SOURCE_FORMATS } from '#schemas/image.ts'
import { requirePlace, type GuestPlace } from '#src/bookings/index.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { readImageText } from '#src/services/images/image-text.ts'
import type { Image } from '#src/services/images/plugin.ts'
import type { WrittenFile } from '#src/services/files/file-service.ts'
import { DOCUMENTS, sidePrefix } from './image-names.ts'

/** Bytes of a re-encoded image, which may be larger than the original. */
const STORED_MAX = 64 * 1024 * 1024

type App = Pick<FastifyInstance, 'db' | 'audit' | 'images' | 'files'>

/**
 * Stores an image of a guest’s document. It replaces the previous one, in any format.
 * @param signal aborted when the client disconnects
 * @returns the name of the object
 * @throws PrenotazioneNonTrovata; CampiNonValidi; ContenutoTroppoGrande and ImmagineTroppoGrande (413);
 * ServizioOccupato (503)
 */
export async function saveImage (
  app: App, request: FastifyRequest, upload: DocumentUpload, signal: AbortSignal
): Promise<string> {
  const { db, images, files } = app
  // Checked before the work, and again afterwards.
  await requirePlace(db, placeOf(upload))
  const caller = request.principal!.id
  const image = await images.reencode(readImageText('base64Image', upload.base64Image), {
    campo: 'base64Image', caller, signal
  })
  checkExtension(upload, image)
  const name = sidePrefix(upload) + image.extension
  const file = await files.write(
    image.bytes, { bucket: DOCUMENTS, name, contentType: image.contentType, owner: caller }, STORED_MAX
  )
  await files.settle(file, () => keepImage(app, request, upload, file))
  return name
}

/** One transaction: stores the new image, discards the old one, and writes the audit log. */
async function keepImage (
  { db, audit, files }: App, request: FastifyRequest, upload: DocumentUpload, file: WrittenFile
): Promise<void> {
  await db.transaction(async (tx) => {
    // The lock serializes uploads, deletions and purges of one booking. One connection runs its statements in order, so
    // the search runs after the lock.
    const [, before] = await Promise.all([
      requirePlace(tx, placeOf(upload), { lock: true }), files.findByPrefix(tx, DOCUMENTS, sidePrefix(upload))
    ])
    // An image of another format has a name that is not reused.
    const isReplaced = ({ name }: { name: string }) => name === file.name
    await files.discard(tx, before.filter(isReplaced), { isReplaced: true })
    await files.discard(tx, before.filter((each) => !isReplaced(each)))
    await files.keep(tx, file, { replace: true })
    await request.noteDone(tx)
    await audit.append(tx, {
      ...authorOf(request),
      action: 'documento_caricato',
      object: `prenotazione:${upload.booking_id}`,
      details: { ospite: upload.guest_idx, lato: upload.side, sostituita: before.length > 0 }
    })
  })
}

function placeOf ({ booking_id: prenotazione_id, guest_idx }: DocumentUpload): GuestPlace {
  return { prenotazione_id, guest_idx }
}

function checkExtension ({ ext }: DocumentUpload, { source }: Image): void {
  const { extensions } = SOURCE_FORMATS[source]
  if (extensions.some((each) => each === ext)) return
  throw new CampiNonValidi({
    campo: 'ext',
    messaggio: `non corrisponde all’immagine, che è ${source.toUpperCase()} (${extensions.join(' o ')})`
  })
}
