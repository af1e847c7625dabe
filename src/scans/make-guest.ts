import type { FastifyInstance } from 'fastify'
import type { ScanData, ScanGuestBody, StoredGuest } from '#schemas/scan.ts'
import type { Avviso } from '#schemas/scanning.ts'
import { placeGuest } from '#src/bookings/index.ts'
import type { Day } from '#src/lib/time.ts'
import type { Transaction } from '#src/database/connect.ts'
import { guestOf, type GuestCodes } from '#src/scanning/index.ts'
import { mergedFields, type Fields, type Names } from './merged-fields.ts'
import { scanNotices } from './scan-notices.ts'
import type { ScanRepository } from './repository.ts'

interface MakingGuests {
  repository: ScanRepository
  today: Day
  /** Marks the request as done, in the same transaction. */
  noteDone: (tx: Transaction) => Promise<void>
}

/**
 * Makes the holder of a scanned document a guest of a booking. `dati` overrides the fields of the document. For a field
 * that the document lacks, the value saved in that place may stay: see `mergedFields`. Other saved fields, such as
 * the guest type, stay.
 * @throws ScansioneNonTrovata, PrenotazioneNonTrovata, CampiNonValidi when the booking has no such place
 */
export async function makeGuest (
  { db, guestCodes }: Pick<FastifyInstance, 'db' | 'guestCodes'>,
  id: number,
  { prenotazione_id, guest_idx, dati = {} }: ScanGuestBody,
  { repository, today, noteDone }: MakingGuests
): Promise<{ ospite: StoredGuest, avvisi: Avviso[] }> {
  const data = repository.open(await repository.find(db, id))
  const made = fieldsOf(data, await guestCodes())
  const place = { prenotazione_id, guest_idx }
  return await db.transaction(async (tx) => {
    // The booking is locked first, as in every deletion, because another order could deadlock.
    const guest = await placeGuest(tx, place, (saved) => (
      { ...mergedFields(saved, made.fields), ...dati, ...named(made, dati) }))
    await repository.find(tx, id, { lock: true })
    await repository.place(tx, id, place)
    await noteDone(tx)
    const { prenotazione_id: _booking, indice: _place, ...ospite } = guest
    return { ospite, avvisi: [...made.avvisi, ...await scanNotices(tx, data, place, today)] }
  })
}

/** `given` is the given name on the document. A single name is in `fields.cognome`. */
interface Made { fields: Fields & Names, given: string, avvisi: Avviso[] }

/** The guest's fields from the document alone. Empty fields are omitted. */
function fieldsOf ({ docNum, issuingCountry, ...data }: ScanData, codes: GuestCodes): Made {
  const known: GuestCodes = {
    ...codes,
    // Users may enter a code of the police instead of an ISO code.
    citizenship: (code) => /^\d/.test(code) ? code : codes.citizenship(code)
  }
  const { ospite, avvisi } = guestOf({ ...data, docNumber: docNum, issuingCountry }, known)
  const { da_completare: _missing, nome, cognome, ...rest } = ospite
  const fields = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== ''))
  return { fields: { ...fields, nome, cognome }, given: data.name, avvisi }
}

/** The names to save. If `dati` has a surname, a single name that the document prints as given name stays one. */
function named ({ fields, given }: Made, dati: Fields): Names {
  const nome = dati.cognome === undefined ? fields.nome : given
  return { nome: (dati.nome === undefined ? nome : dati.nome) ?? '', cognome: dati.cognome ?? fields.cognome }
}
