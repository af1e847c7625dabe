import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { SaveScanBody, ScanData } from '#schemas/scan.ts'
import type { Avviso } from '#schemas/scanning.ts'
import { requirePlace, type GuestPlace } from '#src/bookings/index.ts'
import { UNSPECIFIED_SEX } from '#src/lib/sex-words.ts'
import type { Clock } from '#src/lib/time.ts'
import { authorOf } from '#src/services/audit/log.ts'
import type { Transaction } from '#src/database/connect.ts'
import { readImage } from '#src/services/images/image-text.ts'
import { scanNotices, unknownStates } from './scan-notices.ts'
import { pictureName, PICTURES } from './scan-pictures.ts'
import type { ScanRepository } from './repository.ts'

/** Maximum bytes of a stored picture. A re-encoded one may be larger than the original. */
const STORED_MAX = 64 * 1024 * 1024

type App = Pick<FastifyInstance, 'db' | 'audit' | 'images' | 'files' | 'guestCodes'>
interface Saving {
  repository: ScanRepository
  clock: Clock
  /** Aborts when the client disconnects. */
  signal: AbortSignal
}

/**
 * Stores a document's data, encrypted, and its picture if the body has one.
 * @throws PrenotazioneNonTrovata, CampiNonValidi, ContenutoTroppoGrande (413), ServizioOccupato (503), and the errors
 * of the file storage
 */
export async function saveScan (
  app: App, request: FastifyRequest, body: SaveScanBody, { repository, clock, signal }: Saving
): Promise<{ id: number, avvisi: Avviso[] }> {
  const { db, audit, images, files } = app
  const { image, prenotazione_id: booking, guest_idx: guest, gender, ...document } = body
  const data: ScanData = {
    expiryDate: '', documentCode: '', issuingCountry: '', ...document, gender: gender === UNSPECIFIED_SEX ? 'X' : gender
  }
  const unknown = unknownStates(data, await app.guestCodes())
  const place = placeOf(booking, guest)
  // Check the place before the work, and again in the transaction.
  if (place !== null) await requirePlace(db, place)
  const caller = request.principal!.id
  const picture = image === undefined
    ? undefined
    : await images.copy(readImage('image', image), { campo: 'image', caller, signal })
  const id = await repository.takeId(db)

  async function keep (tx: Transaction): Promise<Avviso[]> {
    if (place !== null) await requirePlace(tx, place, { lock: true })
    await repository.add(tx, id, data, place)
    const avvisi = [...unknown, ...await scanNotices(tx, data, place, clock.today())]
    if (file !== undefined) await files.keep(tx, file, { replace: false })
    await request.noteDone(tx)
    await audit.append(tx, {
      ...authorOf(request),
      action: 'scansione_salvata',
      object: `scansione:${id}`,
      details: { prenotazione: booking ?? null, ospite: guest ?? null, immagine: file !== undefined }
    })
    return avvisi
  }

  const file = picture && await files.write(picture.bytes, {
    bucket: PICTURES, name: pictureName(id, picture.extension), contentType: picture.contentType, owner: caller
  }, STORED_MAX)
  const keeping = () => db.transaction(keep)
  return { id, avvisi: file === undefined ? await keeping() : await files.settle(file, keeping) }
}

/** The request has both values or neither: see `scanErrors`. */
function placeOf (prenotazione_id: number | undefined, guest_idx: number | undefined): GuestPlace | null {
  return prenotazione_id === undefined || guest_idx === undefined ? null : { prenotazione_id, guest_idx }
}
