import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { PhotoBody, PhotoData, PhotoField } from '#schemas/photo.ts'
import { BIRTH_PLACE_FIELDS, SCANNED_FIELDS, type Avviso } from '#schemas/scanning.ts'
import { placeGuest, requirePlace, requireVersion, type SavedGuest } from '#src/bookings/index.ts'
import { DOCUMENTS, keepImage, prepareImage } from '#src/documents/index.ts'
import { readGuest, type ReadGuest } from '#src/scanning/index.ts'
import { expectedVersions } from '#src/lib/etag.ts'
import type { Day } from '#src/lib/time.ts'
import { DocumentoNonLetto } from './errors.ts'
import { mergedFields, nameOf, type Fields, type Names } from './merged-fields.ts'
import { sameGuest } from './scan-notices.ts'

type App = Pick<
  FastifyInstance, 'db' | 'audit' | 'images' | 'files' | 'guestCodes' | 'readDocument' | 'bookingRemarks'
>
interface Photo extends Required<PhotoBody> { booking: number }

/**
 * Reads the photo of a document, and saves its holder as a guest of a booking, with the image. Both are saved, or
 * neither is.
 * @param signal aborted when the client disconnects
 * @throws DocumentoNonLetto (422), PrenotazioneNonTrovata, PrenotazioneModificata when `If-Match` is outdated,
 * CampiNonValidi when the booking has no such place, and the errors of `readDocument` and of `prepareImage`
 */
export async function savePhoto (
  app: App, request: FastifyRequest, { booking, image, guest_idx, side }: Photo, today: Day, signal: AbortSignal
): Promise<PhotoData> {
  const { db, files } = app
  const place = { prenotazione_id: booking, guest_idx }
  // Check the place before the work, and again in the transaction.
  await requirePlace(db, place)
  const reading = await app.readDocument({ image }, { caller: request.principal!.id, signal })
  const read = readGuest(reading, { today, codes: await app.guestCodes() })
  if (read === undefined || read.ospite.cognome === '') throw new DocumentoNonLetto()
  const face = { booking_id: booking, guest_idx, side }
  const { name, file } = await prepareImage(app, request, face, { campo: 'image', image }, signal)
  const saved = await files.settle(file, () => db.transaction(async (tx) => {
    await requireVersion(tx, booking, expectedVersions(request.headers['if-match']))
    let before: SavedGuest | undefined
    const guest = await placeGuest(tx, place, (earlier) => {
      before = earlier
      return mergedGuest(earlier, read)
    })
    await keepImage(app, tx, request, face, file)
    await request.noteDone(tx)
    const { prenotazione_id: _booking, indice: _place, ...ospite } = guest
    return { ospite, avvisi: [...otherPerson(before, read), ...await sameGuest(tx, holderOf(read), place)] }
  }))
  const { errors, warnings } = await app.bookingRemarks(db, booking)
  const ofGuest = (each: { ospite: number }) => each.ospite === guest_idx
  return {
    prenotazione_id: booking,
    guest_idx,
    path: `${DOCUMENTS}/${name}`,
    ospite: saved.ospite,
    valid: read.valid,
    ...accountOf(saved.ospite, read),
    errors: errors.filter(ofGuest),
    warnings: warnings.filter(ofGuest),
    avvisi: [...saved.avvisi, ...read.avvisi]
  }
}

const PHOTO_FIELDS: readonly PhotoField[] = [...SCANNED_FIELDS, ...BIRTH_PLACE_FIELDS]

/** The fields that are only proposals. Without a valid zone these are all fields that were read. */
function proposedBy ({ ospite, valid }: ReadGuest): readonly PhotoField[] {
  return valid === true ? ospite.proposti ?? [] : PHOTO_FIELDS.filter((name) => (ospite[name] ?? '') !== '')
}

/**
 * The fields to write. A proposal never replaces a field of the same person that was saved before. Without a valid zone
 * a saved guest with another name stays unchanged.
 */
function mergedGuest (saved: SavedGuest | undefined, read: ReadGuest): Fields & Names {
  const { nome, cognome } = read.ospite
  const found = Object.fromEntries(PHOTO_FIELDS.flatMap((name) => {
    const value = read.ospite[name] ?? ''
    return value === '' ? [] : [[name, value]]
  })) as Fields
  if (saved === undefined) return { ...found, nome, cognome }
  if (read.valid !== true && nameOf(saved) !== nameOf(read.ospite)) return { nome: saved.nome, cognome: saved.cognome }
  const proposed = proposedBy(read)
  const sure = Object.fromEntries(Object.entries(found).filter(([name]) => !proposed.includes(name as PhotoField)))
  const change: Fields & Names = mergedFields(saved, { ...sure, nome, cognome })
  const open = proposed.filter((name) => change[name] === null || (change[name] === undefined && saved[name] === null))
  return { ...change, ...Object.fromEntries(open.map((name) => [name, found[name]])) }
}

/** A notice when the photo shows another name without a valid zone, so that nothing was changed. */
function otherPerson (saved: SavedGuest | undefined, read: ReadGuest): Avviso[] {
  if (saved === undefined || read.valid === true || nameOf(saved) === nameOf(read.ospite)) return []
  const { cognome, nome } = read.ospite
  const holder = `${cognome} ${nome}`.trim()
  const messaggio = `La foto indica ${holder}, ma la lettura non è sicura: l’ospite salvato non è cambiato`
  return [{ campo: 'cognome', messaggio }]
}

function holderOf ({ ospite }: ReadGuest) {
  return {
    surname: ospite.cognome, name: ospite.nome, birthDate: ospite.data_nascita, docNum: ospite.numero_documento
  }
}

/** Divides the fields from the photo into read and proposed ones, and lists the fields to complete. */
function accountOf (
  ospite: PhotoData['ospite'], read: ReadGuest
): Pick<PhotoData, 'letti' | 'proposti' | 'da_completare'> {
  const proposed = proposedBy(read)
  const isWritten = (name: PhotoField) => (read.ospite[name] ?? '') !== '' && ospite[name] === read.ospite[name]
  // A field is still to complete if the saved value equals the missing or incomplete value of the document.
  const missing = read.ospite.da_completare.filter((name) => (ospite[name] ?? '') === (read.ospite[name] ?? ''))
  const isComplete = (name: PhotoField) => isWritten(name) && !missing.includes(name)
  return {
    letti: PHOTO_FIELDS.filter((name) => isComplete(name) && !proposed.includes(name)),
    proposti: proposed.filter(isComplete),
    da_completare: missing
  }
}
