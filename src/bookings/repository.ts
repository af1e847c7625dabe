import { eq, inArray, sql } from 'drizzle-orm'
import { prenotazioni as t } from '#drizzle/tables/bookings.ts'
import type { Booking, BookingCreation, BookingDetail, BookingUpdate } from '#schemas/booking.ts'
import { PrenotazioneModificata, PrenotazioneNonTrovata } from './errors.ts'
import type { Audit, Author } from '#src/plugins/audit/log.ts'
import type { Database } from '#src/plugins/database/connect.ts'
import { bookingColumns, guestList } from './columns.ts'
import type { BeforeDelete } from './hooks.ts'
import { changedStay, newStay } from './stay.ts'

/** A booking and the number of its present version, which is its ETag. */
export interface Versioned<T> { booking: T, versione: number }

/** Which versions a change may be made on; undefined: any. */
export type Expected = ReadonlySet<number> | undefined

const versionedColumns = { ...bookingColumns, versione: t.versione }

function versioned ({ versione, ...booking }: Booking & { versione: number }): Versioned<Booking> {
  return { booking, versione }
}

/**
 * Bookings in the database.
 * @param beforeDelete what other areas have to say before bookings are deleted
 */
export function bookingRepository (db: Database, audit: Audit, beforeDelete: readonly BeforeDelete[]) {
  const detail = db.select({ booking: { ...bookingColumns, ospiti: guestList }, versione: t.versione })
    .from(t).where(eq(t.id, sql.placeholder('id'))).prepare('booking_detail')

  return {
    /** @throws PrenotazioneNonTrovata */
    async find (id: number): Promise<Versioned<BookingDetail>> {
      const [found] = await detail.execute({ id })
      if (!found) throw new PrenotazioneNonTrovata()
      return found
    },

    async create ({ check_in, check_out, numero_notti, ...rest }: BookingCreation): Promise<Versioned<Booking>> {
      const [created] = await db.insert(t).values({ ...rest, ...newStay({ check_in, check_out, numero_notti }) })
        .returning(versionedColumns)
      return versioned(created!)
    },

    /**
     * Changes the fields that are present.
     * @throws PrenotazioneNonTrovata
     * @throws PrenotazioneModificata when the booking is not at an expected version
     */
    update (id: number, change: BookingUpdate, expected: Expected): Promise<Versioned<Booking>> {
      return db.transaction(async (tx) => {
        const [current] = await tx.select(versionedColumns).from(t).where(eq(t.id, id)).for('update')
        if (!current) throw new PrenotazioneNonTrovata()
        if (expected && !expected.has(current.versione)) throw new PrenotazioneModificata()
        const { id: _id, ospiti: _ospiti, created_at: _created, updated_at: _updated, ...writable } = change
        if (Object.keys(writable).length === 0) return versioned(current)
        const { numero_notti: _notti, ...fields } = writable
        const [updated] = await tx.update(t)
          .set({ ...fields, ...changedStay(current, change), updated_at: sql`now()`, versione: sql`${t.versione} + 1` })
          .where(eq(t.id, id))
          .returning(versionedColumns)
        return versioned(updated!)
      })
    },

    /**
     * Deletes, all or nothing; the guests go with their booking. Who did it is written down.
     * @returns the ids that existed, ascending
     * @throws what a `beforeDelete` hook throws
     * @throws RegistroNonDisponibile
     */
    deleteMany (ids: readonly number[], author: Author): Promise<number[]> {
      return db.transaction(async (tx) => {
        // Locked in one order, so that two deletions cannot wait for each other.
        const present = await tx.select({ id: t.id }).from(t).where(inArray(t.id, [...ids])).orderBy(t.id).for('update')
        const found = present.map(({ id }) => id)
        if (found.length === 0) return found
        for (const hook of beforeDelete) await hook(tx, found)
        await tx.delete(t).where(inArray(t.id, found))
        await audit.append(tx, { ...author, action: 'prenotazioni_eliminate', details: { ids: found.map(String) } })
        return found
      })
    }
  }
}
