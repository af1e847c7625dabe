import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { DocumentParams, DocumentUpload } from '#schemas/document.ts'
import { SOURCE_FORMATS } from '#schemas/image.ts'
import { requirePlace, type GuestPlace } from '#src/bookings/index.ts'
import type { Transaction } from '#src/database/connect.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { readImageText } from '#src/services/images/image-text.ts'
import type { Image } from '#src/services/images/plugin.ts'
import type { WrittenFile } from '#src/services/files/file-service.ts'
import { DOCUMENTS, sidePrefix } from './image-names.ts'

/** Maximum bytes of a re-encoded image, which may be larger than the original. */
const STORED_MAX = 64 * 1024 * 1024

type App = Pick<FastifyInstance, 'db' | 'audit' | 'images' | 'files'>

type Side = DocumentParams
/** The image as text in a body field. `ext` is checked if it is given. */
interface GivenImage { campo: string, text: string, ext?: string }
/** A written image, whose row is missing. */
export interface PreparedImage { name: string, file: WrittenFile }

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
  const { db, files } = app
  const { base64Image: text, ext, ...side } = upload
  // Checked before the work, and again afterwards.
  await requirePlace(db, placeOf(side))
  const { name, file } = await prepareImage(app, request, side, { campo: 'base64Image', text, ext }, signal)
  await files.settle(file, () => db.transaction(async (tx) => {
    await keepImage(app, tx, request, side, file)
    await request.noteDone(tx)
  }))
  return name
}

/**
 * Re-encodes an image and writes its file. The caller settles the file, and keeps it with `keepImage`.
 * @throws as `saveImage`
 */
export async function prepareImage (
  { images, files }: Pick<App, 'images' | 'files'>,
  request: FastifyRequest,
  side: Side,
  { campo, text, ext }: GivenImage,
  signal: AbortSignal
): Promise<PreparedImage> {
  const caller = request.principal!.id
  const image = await images.reencode(readImageText(campo, text), { campo, caller, signal })
  if (ext !== undefined) checkExtension(ext, image)
  const name = sidePrefix(side) + image.extension
  const { bytes, contentType } = image
  return { name, file: await files.write(bytes, { bucket: DOCUMENTS, name, contentType, owner: caller }, STORED_MAX) }
}

/** Stores the new image, discards the old one, and writes the audit log. */
export async function keepImage (
  { audit, files }: Pick<App, 'audit' | 'files'>,
  tx: Transaction,
  request: FastifyRequest,
  side: Side,
  file: WrittenFile
): Promise<void> {
  // The lock serializes uploads, deletions and purges of one booking. One connection runs its statements in order, so
  // the search runs after the lock.
  const [, before] = await Promise.all([
    requirePlace(tx, placeOf(side), { lock: true }), files.findByPrefix(tx, DOCUMENTS, sidePrefix(side))
  ])
  // An image of another format has a name that is not reused.
  const isReplaced = ({ name }: { name: string }) => name === file.name
  await files.discard(tx, before.filter(isReplaced), { isReplaced: true })
  await files.discard(tx, before.filter((each) => !isReplaced(each)))
  await files.keep(tx, file, { replace: true })
  await audit.append(tx, {
    ...authorOf(request),
    action: 'documento_caricato',
    object: `prenotazione:${side.booking_id}`,
    details: { ospite: side.guest_idx, lato: side.side, sostituita: before.length > 0 }
  })
}

function placeOf ({ booking_id: prenotazione_id, guest_idx }: Side): GuestPlace {
  return { prenotazione_id, guest_idx }
}

function checkExtension (ext: string, { source }: Image): void {
  const { extensions } = SOURCE_FORMATS[source]
  if (extensions.some((each) => each === ext)) return
  throw new CampiNonValidi({
    campo: 'ext',
    messaggio: `non corrisponde all’immagine, che è ${source.toUpperCase()} (${extensions.join(' o ')})`
  })
}
