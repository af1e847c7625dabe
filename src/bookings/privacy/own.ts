import { eq } from 'drizzle-orm'
import { prenotazioni as t } from '#drizzle/tables/bookings.ts'
import type { HeldData } from '#schemas/privacy.ts'
import type { Executor } from '#src/database/connect.ts'
import { detailColumns } from '../columns.ts'
import { jsonFile, type Holding } from '../holdings.ts'

/** What bookings themselves hold: the booking and its guests. */
export const ownHolding: Holding = {
  async describe (db, id) {
    const found = await read(db, id)
    if (!found) return []
    const booking = { ...HELD, cosa: 'prenotazione' as const, quanti: 1 }
    return found.ospiti.length === 0
      ? [booking]
      : [booking, { ...HELD, cosa: 'ospiti' as const, quanti: found.ospiti.length }]
  },

  async files (db, id) {
    const found = await read(db, id)
    if (!found) return []
    const { ospiti, ...booking } = found
    return [jsonFile('prenotazione.json', booking), jsonFile('ospiti.json', ospiti)]
  }
}

const HELD = {
  ospite: null,
  lato: null,
  riferimento: null,
  stato: 'finche_esiste_la_prenotazione',
  fino_a: null,
  motivo: 'Gestione del soggiorno: resta finché la prenotazione non si elimina',
  per_legge: false
} satisfies Omit<HeldData, 'cosa' | 'quanti'>

async function read (db: Executor, id: number) {
  const [found] = await db.select(detailColumns).from(t).where(eq(t.id, id))
  return found
}
