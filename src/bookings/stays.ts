import { and, asc, between, eq, gte, isNotNull, lte, ne, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type postgres from 'postgres'
import { ospiti, prenotazioni as t } from '#drizzle/tables/bookings.ts'
import { unita } from '#drizzle/tables/units.ts'
import type { BookingState } from '#schemas/booking.ts'
import { isOneOf } from '#src/database/columns.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { addDays, type Day } from '#src/lib/time.ts'
import { PrenotazioneModificata, PrenotazioneNonTrovata } from './errors.ts'
import { guestDays, type GuestDays, type OwnDays } from './guest-days.ts'
import type { Stay } from './stay.ts'

/* Queries on bookings for this and other areas. */

/** 0-based place of a guest in the guest list of a booking. */
export interface GuestPlace { prenotazione_id: number, guest_idx: number }

/** The columns of a stay for other areas, without contact data. */
const columns = {
  id: t.id,
  nome_cognome: t.nome_cognome,
  check_in: t.check_in,
  numero_notti: t.numero_notti,
  numero_ospiti: t.numero_ospiti
}

/** Adds the time when nights, state or guests last changed. Saving the same guests again also counts as a change. */
const datedColumns = { ...columns, stato: t.stato, schedine_cambiate_il: t.schedine_cambiate_il }

const versionedColumns = { ...columns, stato: t.stato, versione: t.versione }

/** Only guests of confirmed bookings are reported to the police. */
const isConfirmed = eq(t.stato, 'confermata')

/**
 * The stays with arrival from `from` to `to`, both included. A missing bound is open. Returns a query. The caller
 * executes it, or joins it as a subquery with `.as('p')`, so that the database joins many stays.
 * @param confirmed leaves out stays that are not confirmed
 */
export function staysByArrival (
  db: Executor, { from, to, confirmed = false }: { from?: Day, to?: Day, confirmed?: boolean }
) {
  return db.select(datedColumns).from(t).where(and(
    confirmed ? isConfirmed : undefined,
    from === undefined ? undefined : gte(t.check_in, from),
    to === undefined ? undefined : lte(t.check_in, to)
  ))
}

/** The confirmed stays with a night from `from` to `to`, both included. Returns a query, as `staysByArrival` does. */
export function staysDuring (db: Executor, { from, to }: { from: Day, to: Day }) {
  return db.select(datedColumns).from(t)
    .where(and(
      isConfirmed, sql`daterange(${t.check_in}, ${t.check_out}, '[)') && daterange(${from}::date, ${to}::date, '[]')`
    ))
}

/** The stays with these ids, as a query, like `staysByArrival`. Unknown ids are ignored. */
export function staysById (db: Executor, ids: readonly number[]) {
  return db.select(datedColumns).from(t).where(isOneOf(t.id, ids))
}

export async function bookingExists (db: Executor, id: number): Promise<boolean> {
  const [found] = await db.select({ id: t.id }).from(t).where(eq(t.id, id))
  return found !== undefined
}

/**
 * The number of guests of a booking, which is its number of places.
 * @param lock keeps other transactions from changing, deleting or locking the booking until this one ends
 * @throws PrenotazioneNonTrovata
 */
async function placesFor (db: Executor, id: number, { lock = false } = {}): Promise<number> {
  const query = db.select({ places: t.numero_ospiti }).from(t).where(eq(t.id, id))
  const [found] = await (lock ? query.for('update').prepare('places_locked') : query.prepare('places')).execute()
  if (!found) throw new PrenotazioneNonTrovata()
  return found.places
}

/**
 * Locks a booking as `placesFor` does with `lock`.
 * @throws PrenotazioneNonTrovata
 */
export async function lockStay (
  tx: Transaction, id: number
): Promise<Stay & { numero_ospiti: number, unita_id: number | null }> {
  const { check_in, check_out, numero_ospiti, unita_id } = t
  const [found] = await tx.select({ check_in, check_out, numero_ospiti, unita_id }).from(t)
    .where(eq(t.id, id)).for('update')
    .prepare('stay_locked').execute()
  if (!found) throw new PrenotazioneNonTrovata()
  return found
}

/**
 * Locks a booking until the transaction ends, and checks its version. Does neither when `expected` is undefined.
 * @throws PrenotazioneNonTrovata
 * @throws PrenotazioneModificata when the booking is not at an expected version
 */
export async function requireVersion (
  tx: Transaction, id: number, expected: ReadonlySet<number> | undefined
): Promise<void> {
  if (expected === undefined) return
  const [found] = await tx.select({ versione: t.versione }).from(t).where(eq(t.id, id)).for('update')
  if (!found) throw new PrenotazioneNonTrovata()
  if (!expected.has(found.versione)) throw new PrenotazioneModificata()
}

/**
 * Throws unless a booking has a place for a guest.
 * @param lock as in `placesFor`
 * @throws PrenotazioneNonTrovata, CampiNonValidi
 */
export async function requirePlace (
  db: Executor, { prenotazione_id, guest_idx }: GuestPlace, { lock = false } = {}
): Promise<void> {
  const places = await placesFor(db, prenotazione_id, { lock })
  if (guest_idx < places) return
  // Guests who replace earlier guests have places beyond the number of guests.
  if (guest_idx < await db.$count(ospiti, eq(ospiti.prenotazione_id, prenotazione_id))) return
  throw new CampiNonValidi({
    campo: 'guest_idx',
    messaggio: `deve essere minore di ${places}: la prenotazione è per ${places} (il primo ospite ha 0)`
  })
}

/**
 * Locks a booking: other transactions can neither change, delete nor lock it until this one ends.
 * @returns whether it exists
 */
export async function lockBooking (tx: Transaction, id: number): Promise<boolean> {
  return (await tx.select({ id: t.id }).from(t).where(eq(t.id, id)).for('update')).length > 0
}

/** A locked booking: its state, stay, number of guests and version. */
export interface LockedBooking extends Stay { stato: BookingState, numero_ospiti: number, versione: number }

/**
 * Locks bookings against changes and deletion until the transaction ends. Unknown ids are ignored.
 * @returns those that exist, by id
 */
export async function lockForShare (tx: Transaction, ids: readonly number[]): Promise<Map<number, LockedBooking>> {
  if (ids.length === 0) return new Map()
  const { id, stato, check_in, check_out, numero_ospiti, versione } = t
  const locked = await tx.select({ id, stato, check_in, check_out, numero_ospiti, versione }).from(t)
    .where(isOneOf(t.id, ids)).orderBy(asc(t.id)).for('share')
  return new Map(locked.map(({ id, ...booking }) => [id, booking]))
}

/** A stay with its saved guests, in order, as stored. */
export interface StayWithGuests {
  id: number
  nome_cognome: string
  check_in: Day
  numero_notti: number
  numero_ospiti: number
  stato: BookingState
  /** Read before the guests. So the booking either had these guests at this version, or has a higher version now. */
  versione: number
  ospiti: (typeof ospiti.$inferSelect)[]
}

/** @throws PrenotazioneNonTrovata */
export async function stayWithGuests (db: Executor, id: number): Promise<StayWithGuests> {
  const [stay] = await withGuests(db, await db.select(versionedColumns).from(t).where(eq(t.id, id)))
  if (!stay) throw new PrenotazioneNonTrovata()
  return stay
}

/** The confirmed stays that include the night of `day`, by id. `ids` filters them. */
export async function staysWithGuests (db: Executor, day: Day, ids?: readonly number[]): Promise<StayWithGuests[]> {
  const chosen = ids === undefined ? undefined : isOneOf(t.id, ids)
  const isPresent = and(isConfirmed, sql`daterange(${t.check_in}, ${t.check_out}, '[)') @> ${day}::date`, chosen)
  return withGuests(db, await db.select(versionedColumns).from(t).where(isPresent).orderBy(asc(t.id)))
}

/** The nights of each guest of a stay. */
export function nightsOf ({ check_in, numero_notti }: Pick<StayWithGuests, 'check_in' | 'numero_notti'>) {
  const stay = { check_in, check_out: addDays(check_in, numero_notti) }
  return (guest: OwnDays): GuestDays => guestDays(guest, stay)
}

/** Adds the saved guests of stays, which one statement reads. */
export async function withGuests<S extends { id: number }> (
  db: Executor, stays: readonly S[]
): Promise<(S & Pick<StayWithGuests, 'ospiti'>)[]> {
  const byStay = await savedGuests(db, stays.map(({ id }) => id))
  return stays.map((stay) => ({ ...stay, ospiti: byStay.get(stay.id) ?? [] }))
}

/** The apartment of each booking's unit. A booking whose unit has none is not in the map. */
export async function apartmentsOfUnits (db: Executor, ids: readonly number[]): Promise<ReadonlyMap<number, number>> {
  if (ids.length === 0) return new Map()
  const found = await db.select({ id: t.id, apartment: unita.id_appartamento }).from(t)
    .innerJoin(unita, eq(unita.id, t.unita_id)).where(and(isOneOf(t.id, ids), isNotNull(unita.id_appartamento)))
  return new Map(found.map(({ id, apartment }) => [id, apartment!]))
}

/** The establishment of each booking's unit. A booking without a unit is not in the map. */
export async function establishmentsOf (db: Executor, ids: readonly number[]): Promise<ReadonlyMap<number, number>> {
  if (ids.length === 0) return new Map()
  const found = await db.select({ id: t.id, establishment: unita.struttura_id }).from(t)
    .innerJoin(unita, eq(unita.id, t.unita_id)).where(isOneOf(t.id, ids))
  return new Map(found.map(({ id, establishment }) => [id, establishment]))
}

/** The saved guests of bookings, in order. A booking without guests is not in the map. */
export async function savedGuests (
  db: Executor,
  ids: readonly number[]
): Promise<ReadonlyMap<number, StayWithGuests['ospiti']>> {
  if (ids.length === 0) return new Map()
  const guests = await db.select().from(ospiti).where(isOneOf(ospiti.prenotazione_id, ids))
    .orderBy(asc(ospiti.indice))
  return Map.groupBy(guests, ({ prenotazione_id }) => prenotazione_id)
}

/** Two arrivals at most this many days apart should not share a code. Older codes may be used again. */
const CODE_DAYS = 7

/** At most 10 bookings with the same `idf_gen`, another main guest, and an arrival within `CODE_DAYS`. */
export async function bookingsWithCodeOf (db: Executor, id: number): Promise<number[]> {
  const own = alias(t, 'own')
  const found = await db.select({ id: t.id }).from(own).innerJoin(t, and(
    between(t.check_in, sql`${own.check_in} - ${CODE_DAYS}::int`, sql`${own.check_in} + ${CODE_DAYS}::int`),
    eq(t.idf_gen, own.idf_gen),
    sql`upper(${t.nome_cognome}) <> upper(${own.nome_cognome})`
  )).where(and(eq(own.id, id), ne(t.id, id))).orderBy(asc(t.id)).limit(10)
  return found.map((booking) => booking.id)
}

/** The facts about the stay in a guest's letter. */
export interface WelcomedStay { check_in: Day, check_out: Day, idf_gen: string | null, numero_ospiti: number }

/** @throws PrenotazioneNonTrovata */
export async function welcomedStay (db: Executor, id: number): Promise<WelcomedStay> {
  const [stay] = await db.select({
    check_in: t.check_in, check_out: t.check_out, idf_gen: t.idf_gen, numero_ospiti: t.numero_ospiti
  }).from(t).where(eq(t.id, id))
  if (!stay) throw new PrenotazioneNonTrovata()
  return stay
}

/** Arrivals and departures of a day, of confirmed bookings. */
export interface DayCounts {
  arrivals: number
  departures: number
  /** The main guest of the next arrival, on that day or later. Null without one. */
  next_guest: string | null
}

/** Arrivals and departures of a day, and the next guest. */
export async function countDay (sql: postgres.Sql, day: Day): Promise<DayCounts> {
  const [row] = await sql<[DayCounts]>`
    select
      (select count(*) from prenotazioni where check_in = ${day}::date and stato = 'confermata')::int as arrivals,
      (select count(*) from prenotazioni where check_out = ${day}::date and stato = 'confermata')::int as departures,
      (
        select nome_cognome from prenotazioni where check_in >= ${day}::date and stato = 'confermata'
        order by check_in, id limit 1
      ) as next_guest`
  return row
}

/** The countries with the most bookings, in descending order. At most `limit`. */
export async function countByCountry (
  sql: postgres.Sql,
  limit: number
): Promise<{ paese_id: number, totale: number }[]> {
  return await sql<{ paese_id: number, totale: number }[]>`
    select paese_id, totale from prenotazioni_per_paese where totale > 0 order by totale desc, paese_id limit ${limit}`
}
