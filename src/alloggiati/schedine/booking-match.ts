import { bookingExists, staysByArrival } from '#src/bookings/index.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import type { Executor } from '#src/database/connect.ts'
import type { RecordSchedina } from '../codec/codec.ts'
import { foldName } from '../codec/folding.ts'
import { nameKey } from '../codec/name-key.ts'

/**
 * The booking that a submission belongs to: the one that the stay names, else the only one with the same arrival whose
 * main guest is the first of the list. Null when there is none, or more than one.
 * @throws CampiNonValidi when the stay names a booking that does not exist
 */
export async function findBooking (
  db: Executor,
  id: number | undefined,
  { data_arrivo, cognome, nome }: RecordSchedina
): Promise<number | null> {
  if (id !== undefined) {
    if (!await bookingExists(db, id)) {
      throw new CampiNonValidi({ campo: 'prenotazione.id', messaggio: 'non è una prenotazione esistente' })
    }
    return id
  }
  const arrivals = await staysByArrival(db, { from: data_arrivo, to: data_arrivo })
  const key = nameKey(cognome, nome)
  const matching = arrivals.filter(({ nome_cognome }) =>
    nameKey(nome_cognome, '') === key && foldName(nome_cognome).refused === ''
  )
  return matching.length === 1 ? matching[0]!.id : null
}
