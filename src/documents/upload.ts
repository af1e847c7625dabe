import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { DocumentParams } from '#schemas/document.ts'
import { SOURCE_FORMATS } from '#schemas/image.ts'
import { requirePlace, requireVersion, type GuestPlace } from '#src/bookings/index.ts'
import type { Transaction } from '#src/database/connect.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { expectedVersions } from '#src/lib/etag.ts'
import { freeMemory } from '#src/lib/free-memory.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { readImage } from '#src/services/images/image-text.ts'
import type { Image } from '#src/services/images/plugin.ts'
import type { WrittenFile } from '#src/services/files/file-service.ts'
import { DOCUMENTS, sidePrefix } from './image-names.ts'

/** Maximum bytes of a stored image. A re-encoded one may be larger than the original. */
const STORED_MAX = 64 * 1024 * 1024

type App = Pick<FastifyInstance, 'db' | 'audit' | 'images' | 'files'>

type Side = DocumentParams
/** The image as bytes, or as text in a body field. If a field or header names a format, the image must have it. */
interface GivenImage {
  /** The name of the body field, or empty when the image is the body. */
  campo: string
  image: string | Buffer<ArrayBuffer>
  format?: { campo: string, ext: string } | undefined
}
/** A side of a document with its image. */
export interface Upload extends GivenImage { side: Side }
/** An image whose file is written, and whose row is not stored yet. */
interface PreparedImage { name: string, file: WrittenFile }

/**
 * Stores an image of a guest’s document. It replaces the previous one, in any format.
 * @param signal aborted when the client disconnects
 * @returns the name of the object
 * @throws PrenotazioneNonTrovata, CampiNonValidi, PrenotazioneModificata (412), ContenutoTroppoGrande and
 * ImmagineTroppoGrande (413), ServizioOccupato (503)
 */
export async function saveImage (
  app: App, request: FastifyRequest, { side, ...given }: Upload, signal: AbortSignal
): Promise<string> {
  const { db, files } = app
  // Check the place before the work, and again in the transaction.
  await requirePlace(db, placeOf(side))
  const { name, file } = await prepareImage(app, request, side, given, signal)
  await files.settle(file, () => db.transaction(async (tx) => {
    await requireVersion(tx, side.booking_id, expectedVersions(request.headers['if-match']))
    await keepImage(app, tx, request, side, file)
    await request.noteDone(tx)
  }))
  return name
}

/**
 * Checks an image and writes its file. The caller stores the row with `keepImage`, inside `files.settle`.
 * @throws CampiNonValidi, ContenutoTroppoGrande and ImmagineTroppoGrande (413), ServizioOccupato (503)
 */
export async function prepareImage (
  { images, files }: Pick<App, 'images' | 'files'>,
  request: FastifyRequest,
  side: Side,
  { campo, image: given, format }: GivenImage,
  signal: AbortSignal
): Promise<PreparedImage> {
  const caller = request.principal!.id
  const image = await images.copy(readImage(campo, given), { campo, caller, signal })
  if (format !== undefined) checkFormat(format, image)
  const name = sidePrefix(side) + image.extension
  const { bytes, contentType } = image
  const file = await files.write(bytes, { bucket: DOCUMENTS, name, contentType, owner: caller }, STORED_MAX)
  freeMemory([bytes.buffer])
  return { name, file }
}

/**
 * Stores the new image, discards the old one, and writes the audit log.
 * @throws PrenotazioneNonTrovata, CampiNonValidi when the booking has no such place
 */
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
  // An earlier image of another format has another name, so it is discarded, not replaced.
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

function checkFormat ({ campo, ext }: NonNullable<GivenImage['format']>, { source }: Image): void {
  const { extensions } = SOURCE_FORMATS[source]
  if (extensions.some((each) => each === ext)) return
  throw new CampiNonValidi({
    campo,
    messaggio: `non corrisponde all’immagine, che è ${source.toUpperCase()} (${extensions.join(' o ')})`
  })
}
