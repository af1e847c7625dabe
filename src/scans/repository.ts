import { and, desc, eq, inArray, isNotNull, isNull, lt, sql, type SQL } from 'drizzle-orm'
import { scansioni as t } from '#drizzle/tables/scans.ts'
import type { ScanData } from '#schemas/scan.ts'
import { decodeCursor, type Position } from '#src/lib/paging.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { GuestPlace } from '#src/bookings/index.ts'
import { isOneOf } from '#src/database/columns.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { ScansioneNonTrovata } from './errors.ts'

/** A scan as stored. The document's data are encrypted. */
export type StoredScan = typeof t.$inferSelect

/** The only order of the list: newest first. */
const SORT = '-id'

export type ScanRepository = ReturnType<typeof scanRepository>

/** Scans in the database. The encrypted data are bound to the scan's id, so that rows cannot be swapped. */
export function scanRepository (keys: Keys) {
  const context = (id: number) => `scansioni:${id}`

  return {
    /** Reserves the id of a scan to be added. */
    async takeId (db: Executor): Promise<number> {
      const [taken] = await db.execute<{ id: number }>(sql`select nextval('scansioni_id_seq')::int as id`)
      return taken!.id
    },

    async add (tx: Transaction, id: number, data: ScanData, place: GuestPlace | null): Promise<void> {
      await tx.insert(t).values({ id, dati: keys.seal(JSON.stringify(data), context(id)), ...place })
    },

    open ({ id, dati }: StoredScan): ScanData {
      return JSON.parse(keys.unseal(dati, context(id)).toString()) as ScanData
    },

    /**
     * @param lock locks the scan until the transaction ends
     * @throws ScansioneNonTrovata
     */
    async find (db: Executor, id: number, { lock = false } = {}): Promise<StoredScan> {
      const query = db.select().from(t).where(eq(t.id, id))
      const [found] = await (lock ? query.for('update') : query)
      if (!found) throw new ScansioneNonTrovata()
      return found
    },

    /**
     * A page of scans, newest first.
     * @throws CampiNonValidi for an invalid cursor
     */
    async page (
      db: Executor, booking: number | undefined, limit: number, cursor?: string
    ): Promise<{ rows: StoredScan[], next: Position | undefined }> {
      const after = cursor === undefined ? undefined : decodeCursor(cursor, SORT)
      const found = await db.select().from(t).where(and(ofBooking(booking), after && lt(t.id, after.id)))
        .orderBy(desc(t.id))
        // One row more than requested, to detect whether a next page exists.
        .limit(limit + 1)
      const last = found.length > limit ? found[limit - 1] : undefined
      return { rows: found.slice(0, limit), next: last && { sort: SORT, value: String(last.id), id: last.id } }
    },

    count: (db: Executor, booking: number | undefined): Promise<number> => db.$count(t, ofBooking(booking)),

    async place (tx: Transaction, id: number, place: GuestPlace): Promise<void> {
      await tx.update(t).set(place).where(eq(t.id, id))
    },

    /** The scans of a booking, by id. */
    ofBooking: (db: Executor, booking: number): Promise<StoredScan[]> =>
      db.select().from(t).where(eq(t.prenotazione_id, booking)).orderBy(t.id),

    /** The ids of the scans of bookings. With `places`, only those of the guests in these places. */
    async idsOf (db: Executor, bookings: readonly number[], places?: readonly number[]): Promise<number[]> {
      const guests = places && isOneOf(t.guest_idx, places)
      const found = await db.select({ id: t.id }).from(t).where(and(isOneOf(t.prenotazione_id, bookings), guests))
      return found.map(({ id }) => id)
    },

    /** The ids of bookings with scans. */
    async bookings (db: Executor): Promise<number[]> {
      const found = await db.selectDistinct({ id: t.prenotazione_id }).from(t).where(isNotNull(t.prenotazione_id))
      return found.map(({ id }) => id!)
    },

    /** Finds and locks scans without a guest that were saved before a moment, at most `limit`. */
    async unplacedBefore (tx: Transaction, moment: Date, limit: number): Promise<number[]> {
      const found = await tx.select({ id: t.id }).from(t)
        .where(and(isNull(t.prenotazione_id), lt(t.created_at, moment))).orderBy(t.id).limit(limit)
        .for('update', { skipLocked: true })
      return found.map(({ id }) => id)
    },

    /** @returns the number of deleted scans */
    async remove (tx: Transaction, ids: readonly number[]): Promise<number> {
      if (ids.length === 0) return 0
      return (await tx.delete(t).where(inArray(t.id, [...ids])).returning({ id: t.id })).length
    }
  }
}

function ofBooking (booking: number | undefined): SQL | undefined {
  return booking === undefined ? undefined : eq(t.prenotazione_id, booking)
}
