import { and, eq, gte, sql } from 'drizzle-orm'
import { ospiti, prenotazioni } from '#drizzle/tables/bookings.ts'
import { GuestFields, type GuestInput, type SaveGuests } from '#schemas/guest.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import type { Database, Transaction } from '#src/database/connect.ts'
import type { GuestsRemoved } from './booking-hooks.ts'
import { placesFor, type GuestPlace } from './stays.ts'

/** On a second save every field takes the new value. */
const overwrite = Object.fromEntries(GuestFields.map((name) => [name, sql.raw(`excluded.${name}`)]))

/**
 * Makes `dati` the guest list of the booking: item *i* is guest *i*, whose row keeps its id; rows past the end go.
 * The booking's row is locked first, so two lists saved at once follow each other whole.
 * @param guestsRemoved what other areas do when guests go
 * @param noteDone what else is written in the same transaction
 * @returns how many guests the booking now has
 * @throws PrenotazioneNonTrovata
 * @throws CampiNonValidi when there are more guests than `numero_ospiti`
 */
export function saveGuests (
  db: Database,
  guestsRemoved: readonly GuestsRemoved[],
  { prenotazione_id, dati }: SaveGuests,
  noteDone: (tx: Transaction) => Promise<void>
): Promise<number> {
  return db.transaction(async (tx) => {
    const places = await placesFor(tx, prenotazione_id, { lock: true })
    if (dati.length > places) {
      throw new CampiNonValidi({
        campo: 'dati',
        messaggio: `ha ${dati.length} ospiti, ma la prenotazione è per ${places}`
      })
    }
    await noteChange(tx, prenotazione_id)
    const rows = dati.map((guest, indice) => ({
      ...known(guest),
      prenotazione_id,
      indice,
      nome: guest.nome,
      cognome: guest.cognome
    }))
    if (rows.length > 0) {
      await tx
        .insert(ospiti)
        .values(rows)
        .onConflictDoUpdate({ target: [ospiti.prenotazione_id, ospiti.indice], set: overwrite })
    }
    const removed = await tx.delete(ospiti)
      .where(and(eq(ospiti.prenotazione_id, prenotazione_id), gte(ospiti.indice, rows.length)))
      .returning({ indice: ospiti.indice })
    if (removed.length > 0) {
      for (const hook of guestsRemoved) await hook(tx, prenotazione_id, removed.map(({ indice }) => indice))
    }
    await noteDone(tx)
    return rows.length
  })
}

/**
 * Puts one guest into a place of the list: the one who is saved there keeps the fields that `change` does not name, or
 * gets what it makes of them; the first free place takes a new guest.
 * @param change the fields of the guest, by the guest who is saved in the place
 * @throws PrenotazioneNonTrovata
 * @throws CampiNonValidi when the booking has no such place, or earlier ones are free
 */
export async function placeGuest (
  tx: Transaction,
  { prenotazione_id, guest_idx: indice }: GuestPlace,
  change: (saved: SavedGuest | undefined) => Partial<GuestInput> & Pick<GuestInput, 'nome' | 'cognome'>
): Promise<SavedGuest> {
  const places = await placesFor(tx, prenotazione_id, { lock: true })
  const here = and(eq(ospiti.prenotazione_id, prenotazione_id), eq(ospiti.indice, indice))
  const [saved] = await tx.select().from(ospiti).where(here)
  const free = await tx.$count(ospiti, eq(ospiti.prenotazione_id, prenotazione_id))
  if (saved === undefined && (indice >= places || indice !== free)) {
    const messaggio = free < places
      ? `può essere al massimo ${free}: gli ospiti si salvano nell’ordine (il primo ha 0)`
      : `deve essere minore di ${places}: la prenotazione è per ${places} (il primo ospite ha 0)`
    throw new CampiNonValidi({ campo: 'guest_idx', messaggio })
  }
  await noteChange(tx, prenotazione_id)
  const { nome, cognome, ...fields } = change(saved)
  const values = { ...given(fields), nome, cognome }
  const [placed] = await tx.insert(ospiti).values({ ...values, prenotazione_id, indice })
    .onConflictDoUpdate({ target: [ospiti.prenotazione_id, ospiti.indice], set: values })
    .returning()
  return placed!
}

export type SavedGuest = typeof ospiti.$inferSelect

/** Only when the row is locked: an update that waits for the lock keeps the time at which it began to wait. */
async function noteChange (tx: Transaction, id: number): Promise<void> {
  await tx.update(prenotazioni)
    .set({
      updated_at: sql`now()`,
      schedine_cambiate_il: sql`clock_timestamp()`,
      versione: sql`${prenotazioni.versione} + 1`
    })
    .where(eq(prenotazioni.id, id))
}

/** The fields that are named, with null for what is empty. */
function given (fields: Partial<GuestInput>): Record<string, string | null> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, value || null]))
}

/** Every field, with null for what is absent or empty: one spelling of "not known". */
function known (guest: SaveGuests['dati'][number]): Record<string, string | null> {
  return Object.fromEntries(GuestFields.map((name) => [name, guest[name] || null]))
}
