import { and, eq, gte, sql } from 'drizzle-orm'
import { ospiti, prenotazioni } from '#drizzle/tables/bookings.ts'
import { GuestFields, type GuestInput, type SaveGuests } from '#schemas/guest.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { UNSPECIFIED_SEX } from '#src/lib/sex-words.ts'
import type { Database, Transaction } from '#src/database/connect.ts'
import type { GuestsRemoved } from './booking-hooks.ts'
import { guestDayFaults, guestDays, peakOccupancy } from './guest-days.ts'
import { lockStay, type GuestPlace } from './stays.ts'

/** Saving again overwrites every field. */
const overwrite = Object.fromEntries(GuestFields.map((name) => [name, sql.raw(`excluded.${name}`)]))

/**
 * Replaces the guest list of the booking with `dati`. Item *i* is guest *i*, whose row keeps its id. Rows past the end
 * are deleted. The booking's row is locked first, so that concurrent saves run one after the other.
 * @param guestsRemoved hooks of other areas for removed guests
 * @param noteDone further writes in the same transaction
 * @returns the number of guests that the booking now has
 * @throws PrenotazioneNonTrovata
 * @throws CampiNonValidi when more guests than `numero_ospiti` stay in one night, or a guest has days outside the stay
 */
export function saveGuests (
  db: Database,
  guestsRemoved: readonly GuestsRemoved[],
  { prenotazione_id, dati }: SaveGuests,
  noteDone: (tx: Transaction) => Promise<void>
): Promise<number> {
  return db.transaction(async (tx) => {
    const { numero_ospiti: places, ...stay } = await lockStay(tx, prenotazione_id)
    const faults = guestDayFaults(dati, stay)
    const peak = faults.length > 0 ? 0 : peakOccupancy(dati.map((guest) => guestDays(guest, stay)))
    if (peak > places) {
      faults.push({ campo: 'dati', messaggio: `ha ${peak} ospiti in una notte, ma la prenotazione è per ${places}` })
    }
    if (faults.length > 0) throw new CampiNonValidi(...faults)
    await noteChange(tx, prenotazione_id)
    const rows = dati.map((guest, indice) => ({
      ...known(guest),
      prenotazione_id,
      indice,
      nome: guest.nome?.trim() ? guest.nome : '',
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
 * Writes one guest to a place of the list. A guest already saved there keeps the fields that `change` does not name. A
 * new guest must go to the first free place.
 * @param change the fields to write, or a function that derives them from the guest saved in the place
 * @throws PrenotazioneNonTrovata
 * @throws CampiNonValidi when the booking has no such place, an earlier place is free, or the guest's days lie outside
 * the stay
 */
export async function placeGuest (
  tx: Transaction,
  { prenotazione_id, guest_idx: indice }: GuestPlace,
  change: (saved: SavedGuest | undefined) => Partial<GuestInput> & { nome: string, cognome: string }
): Promise<SavedGuest> {
  const { numero_ospiti: places, ...stay } = await lockStay(tx, prenotazione_id)
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
  const faults = guestDayFaults([{ ...saved, ...values }], stay)
  if (faults.length > 0) {
    throw new CampiNonValidi(...faults.map((fault) => ({ ...fault, campo: fault.campo.replace('[0]', '') })))
  }
  const [placed] = await tx.insert(ospiti).values({ ...values, prenotazione_id, indice })
    .onConflictDoUpdate({ target: [ospiti.prenotazione_id, ospiti.indice], set: values })
    .returning()
  return placed!
}

export type SavedGuest = typeof ospiti.$inferSelect

/** Notes a change of guests. Call it with the row locked. Otherwise the stored time precedes the wait for the lock. */
async function noteChange (tx: Transaction, id: number): Promise<void> {
  await tx.update(prenotazioni)
    .set({
      updated_at: sql`now()`,
      schedine_cambiate_il: sql`clock_timestamp()`,
      versione: sql`${prenotazioni.versione} + 1`
    })
    .where(eq(prenotazioni.id, id))
}

/** The given fields, with null for empty ones. */
function given (fields: Partial<GuestInput>): Record<string, string | null> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, stored(name, value)]))
}

/** Every field, with null when it is missing or empty. So an unknown value is always null. */
function known (guest: SaveGuests['dati'][number]): Record<string, string | null> {
  return Object.fromEntries(GuestFields.map((name) => [name, stored(name, guest[name])]))
}

function stored (name: string, value: string | null | undefined): string | null {
  return name === 'sesso' && value === UNSPECIFIED_SEX ? 'X' : value || null
}
