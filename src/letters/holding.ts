import type { Holding } from '#src/bookings/index.ts'
import type { Storage } from '#src/services/files/storage.ts'
import { fileOf } from './file.ts'
import { findLetter } from './repository.ts'

/** What is held of a booking in its welcome letter. */
export function letterHolding (storage: Pick<Storage, 'find' | 'read'>): Holding {
  return {
    async describe (db, booking) {
      if (!await findLetter(db, booking)) return []
      return [{
        cosa: 'lettera_benvenuto',
        quanti: 1,
        ospite: null,
        lato: null,
        riferimento: null,
        stato: 'finche_esiste_la_prenotazione',
        fino_a: null,
        motivo: 'La lettera per l’ospite: resta finché non si elimina, o non si elimina la prenotazione',
        per_legge: false
      }]
    },

    async files (db, booking) {
      const letter = await findLetter(db, booking)
      const file = letter && await fileOf(storage, db, letter)
      if (!file) return []
      const content = { bytes: file.size, open: () => storage.read(file) }
      return [{ path: 'lettera-benvenuto.pdf', changed: file.updated_at, content }]
    }
  }
}
