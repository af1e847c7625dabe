import { and, asc, eq, gte, lte, sql } from 'drizzle-orm'
import { ospiti, prenotazioni as t } from '#drizzle/tables/bookings.ts'
import type { Executor, Transaction } from '#src/plugins/database/connect.ts'
import type { Day } from '#src/lib/time.ts'
import { PrenotazioneNonTrovata } from './errors.ts'

/* What other areas read of bookings. */

/** What is shown of a stay to other areas: no contact data. */
const columns = {
  id: t.id,
  nome_cognome: t.nome_cognome,
  check_in: t.check_in,
  numero_notti: t.numero_notti,
  numero_ospiti: t.numero_ospiti
}

/**
 * The stays with arrival from `from` to `to`, both included; an absent bound is open. A query, not its rows: it can be
 * executed, or joined as a subquery with `.as('p')`, so that a join over many stays is done by the database.
 */
export function staysByArrival (db: Executor, { from, to }: { from?: Day, to?: Day }) {
  return db.select(columns).from(t).where(and(
    from === undefined ? undefined : gte(t.check_in, from),
    to === undefined ? undefined : lte(t.check_in, to)
  ))
}

/** The stays with a night from `from` to `to`, both included, of whichever arrival: a query as above. */
export function staysDuring (db: Executor, { from, to }: { from: Day, to: Day }) {
  return db.select(columns).from(t)
    .where(sql`daterange(${t.check_in}, ${t.check_out}, '[)') && daterange(${from}::date, ${to}::date, '[]')`)
}

/** Whether there is a booking with this id. */
export async function bookingExists (db: Executor, id: number): Promise<boolean> {
  const [found] = await db.select({ id: t.id }).from(t).where(eq(t.id, id))
  return found !== undefined
}

/** Keeps a booking from being deleted until the transaction ends. A booking that does not exist is no error. */
export async function keepBooking (tx: Transaction, id: number): Promise<void> {
  await tx.select({ id: t.id }).from(t).where(eq(t.id, id)).for('share')
}

/** A stay with its saved guests, in their order, as they are stored. */
export interface StayWithGuests {
  id: number
  check_in: Day
  numero_notti: number
  ospiti: (typeof ospiti.$inferSelect)[]
}

/** @throws PrenotazioneNonTrovata */
export async function stayWithGuests (db: Executor, id: number): Promise<StayWithGuests> {
  const [stay] = await db.select({ id: t.id, check_in: t.check_in, numero_notti: t.numero_notti }).from(t)
    .where(eq(t.id, id))
  if (!stay) throw new PrenotazioneNonTrovata()
  const guests = await db.select().from(ospiti).where(eq(ospiti.prenotazione_id, id)).orderBy(asc(ospiti.indice))
  return { ...stay, ospiti: guests }
}
