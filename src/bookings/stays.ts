import { and, asc, eq, gte, lte, sql } from 'drizzle-orm'
import type postgres from 'postgres'
import { ospiti, prenotazioni as t } from '#drizzle/tables/bookings.ts'
import { isOneOf } from '#src/database/columns.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import type { Day } from '#src/lib/time.ts'
import { PrenotazioneNonTrovata } from './errors.ts'

/* What other areas read of bookings. */

/** The place of a guest in the list of a booking, 0-based. */
export interface GuestPlace { prenotazione_id: number, guest_idx: number }

/** What is shown of a stay to other areas: no contact data. */
const columns = {
  id: t.id,
  nome_cognome: t.nome_cognome,
  check_in: t.check_in,
  numero_notti: t.numero_notti,
  numero_ospiti: t.numero_ospiti
}

/** When its nights or its guests were last changed, too: saving guests counts as a change, also of the same guests. */
const datedColumns = { ...columns, schedine_cambiate_il: t.schedine_cambiate_il }

const versionedColumns = { ...columns, versione: t.versione }

/**
 * The stays with arrival from `from` to `to`, both included; an absent bound is open. A query, not its rows: it can be
 * executed, or joined as a subquery with `.as('p')`, so that a join over many stays is done by the database.
 */
export function staysByArrival (db: Executor, { from, to }: { from?: Day, to?: Day }) {
  return db.select(datedColumns).from(t).where(and(
    from === undefined ? undefined : gte(t.check_in, from),
    to === undefined ? undefined : lte(t.check_in, to)
  ))
}

/** The stays with a night from `from` to `to`, both included, of whichever arrival: a query as above. */
export function staysDuring (db: Executor, { from, to }: { from: Day, to: Day }) {
  return db.select(datedColumns).from(t)
    .where(sql`daterange(${t.check_in}, ${t.check_out}, '[)') && daterange(${from}::date, ${to}::date, '[]')`)
}

/** The stays with these ids: a query as above. Those that do not exist are no error. */
export function staysById (db: Executor, ids: readonly number[]) {
  return db.select(datedColumns).from(t).where(isOneOf(t.id, ids))
}

/** Whether there is a booking with this id. */
export async function bookingExists (db: Executor, id: number): Promise<boolean> {
  const [found] = await db.select({ id: t.id }).from(t).where(eq(t.id, id))
  return found !== undefined
}

/**
 * How many guests a booking is for: the places that its guests may have.
 * @param lock until the transaction ends, the booking is neither changed nor deleted, nor locked by another one
 * @throws PrenotazioneNonTrovata
 */
export async function placesFor (db: Executor, id: number, { lock = false } = {}): Promise<number> {
  const query = db.select({ places: t.numero_ospiti }).from(t).where(eq(t.id, id))
  const [found] = await (lock ? query.for('update').prepare('places_locked') : query.prepare('places')).execute()
  if (!found) throw new PrenotazioneNonTrovata()
  return found.places
}

/**
 * Sees that a booking has a place for a guest.
 * @param lock as of `placesFor`
 * @throws PrenotazioneNonTrovata, CampiNonValidi
 */
export async function requirePlace (
  db: Executor, { prenotazione_id, guest_idx }: GuestPlace, { lock = false } = {}
): Promise<void> {
  const places = await placesFor(db, prenotazione_id, { lock })
  if (guest_idx < places) return
  throw new CampiNonValidi({
    campo: 'guest_idx',
    messaggio: `deve essere minore di ${places}: la prenotazione è per ${places} (il primo ospite ha 0)`
  })
}

/**
 * Keeps a booking from being changed, deleted or locked by another one until the transaction ends.
 * @returns whether it exists
 */
export async function lockBooking (tx: Transaction, id: number): Promise<boolean> {
  return (await tx.select({ id: t.id }).from(t).where(eq(t.id, id)).for('update')).length > 0
}

/** A booking that is kept: how many guests it is for, and at which version it is. */
export interface Kept { numero_ospiti: number, versione: number }

/**
 * Keeps bookings from being changed or deleted until the transaction ends. Those that do not exist are no error.
 * @returns those that exist, by id
 */
export async function keepBookings (tx: Transaction, ids: readonly number[]): Promise<Map<number, Kept>> {
  if (ids.length === 0) return new Map()
  const kept = await tx.select({ id: t.id, numero_ospiti: t.numero_ospiti, versione: t.versione }).from(t)
    .where(isOneOf(t.id, ids)).orderBy(asc(t.id)).for('share')
  return new Map(kept.map(({ id, ...booking }) => [id, booking]))
}

/** A stay with its saved guests, in their order, as they are stored. */
export interface StayWithGuests {
  id: number
  nome_cognome: string
  check_in: Day
  numero_notti: number
  numero_ospiti: number
  /** Read before the guests: at this version they were these, or the booking is at a later one by now. */
  versione: number
  ospiti: (typeof ospiti.$inferSelect)[]
}

/** @throws PrenotazioneNonTrovata */
export async function stayWithGuests (db: Executor, id: number): Promise<StayWithGuests> {
  const [stay] = await withGuests(db, await db.select(versionedColumns).from(t).where(eq(t.id, id)))
  if (!stay) throw new PrenotazioneNonTrovata()
  return stay
}

/** The stays that arrive on a day, by id; `ids` chooses among them. */
export async function staysWithGuests (db: Executor, day: Day, ids?: readonly number[]): Promise<StayWithGuests[]> {
  const chosen = ids === undefined ? undefined : isOneOf(t.id, ids)
  const arriving = and(eq(t.check_in, day), chosen)
  return withGuests(db, await db.select(versionedColumns).from(t).where(arriving).orderBy(asc(t.id)))
}

async function withGuests (db: Executor, stays: Omit<StayWithGuests, 'ospiti'>[]): Promise<StayWithGuests[]> {
  const byStay = await savedGuests(db, stays.map(({ id }) => id))
  return stays.map((stay) => ({ ...stay, ospiti: byStay.get(stay.id) ?? [] }))
}

/** The saved guests of bookings, in their order; a booking without any is not in the map. */
export async function savedGuests (
  db: Executor,
  ids: readonly number[]
): Promise<ReadonlyMap<number, StayWithGuests['ospiti']>> {
  if (ids.length === 0) return new Map()
  const guests = await db.select().from(ospiti).where(isOneOf(ospiti.prenotazione_id, ids))
    .orderBy(asc(ospiti.indice))
  return Map.groupBy(guests, ({ prenotazione_id }) => prenotazione_id)
}

/** What a guest's letter says of the stay. */
export interface WelcomedStay { check_in: Day, check_out: Day, idf_gen: string | null }

/** @throws PrenotazioneNonTrovata */
export async function welcomedStay (db: Executor, id: number): Promise<WelcomedStay> {
  const [stay] = await db.select({ check_in: t.check_in, check_out: t.check_out, idf_gen: t.idf_gen }).from(t)
    .where(eq(t.id, id))
  if (!stay) throw new PrenotazioneNonTrovata()
  return stay
}

/** What a day brings. */
export interface DayCounts {
  arrivals: number
  departures: number
  /** The main guest of the next arrival, on that day or later; null when no arrival follows. */
  next_guest: string | null
}

/** Arrivals and departures of a day, and who comes next. */
export async function countDay (sql: postgres.Sql, day: Day): Promise<DayCounts> {
  const [row] = await sql<[DayCounts]>`
    select
      (select count(*) from prenotazioni where check_in = ${day}::date)::int as arrivals,
      (select count(*) from prenotazioni where check_out = ${day}::date)::int as departures,
      (
        select nome_cognome from prenotazioni where check_in >= ${day}::date order by check_in, id limit 1
      ) as next_guest`
  return row
}

/** The countries that most bookings come from, by number of bookings; at most `limit`. */
export async function countByCountry (
  sql: postgres.Sql,
  limit: number
): Promise<{ paese_id: number, totale: number }[]> {
  return await sql<{ paese_id: number, totale: number }[]>`
    select paese_id, totale from prenotazioni_per_paese where totale > 0 order by totale desc, paese_id limit ${limit}`
}
