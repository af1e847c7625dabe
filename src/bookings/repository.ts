import { and, eq, inArray, sql } from 'drizzle-orm'
import { ospiti, prenotazioni as t } from '#drizzle/tables/bookings.ts'
import type { Booking, BookingCreation, BookingUpdate } from '#schemas/booking.ts'
import { PrenotazioneModificata, PrenotazioneNonTrovata } from './errors.ts'
import { asJson } from '#src/database/columns.ts'
import type { Audit, Author } from '#src/services/audit/log.ts'
import type { Database, Executor, Transaction } from '#src/database/connect.ts'
import type { ForgetAnswers } from '#src/http/idempotency/forgotten-answers.ts'
import { bookingColumns, detailColumns } from './columns.ts'
import type { BookingHooksList } from './hooks.ts'
import { changedStay, newStay } from './stay.ts'

/** A booking and the number of its present version, which is its ETag. */
export interface Versioned<T> { booking: T, versione: number }

/** What was held before a booking was deleted, and what is afterwards. */
export interface Erasure<Told> { existed: boolean, before: Told, after: Told }

/** Which versions a change may be made on; undefined: any. */
export type Expected = ReadonlySet<number> | undefined

const versionedColumns = { ...bookingColumns, versione: t.versione }

/** What a new booking is given; all else follows. The statement is built once: that takes longer than to run it. */
const given = {
  nome_cognome: sql.placeholder('nome_cognome'),
  lingua: sql.placeholder('lingua'),
  email: sql.placeholder('email'),
  telefono: sql.placeholder('telefono'),
  paese_id: sql.placeholder('paese_id'),
  check_in: sql.placeholder('check_in'),
  check_out: sql.placeholder('check_out'),
  numero_ospiti: sql.placeholder('numero_ospiti'),
  idf_gen: sql.placeholder('idf_gen')
}

function versioned ({ versione, ...booking }: Booking & { versione: number }): Versioned<Booking> {
  return { booking, versione }
}

export type BookingRepository = ReturnType<typeof bookingRepository>

/** Whom else a change or a deletion concerns. */
export interface Others {
  /** What other areas have to say before bookings are deleted, and when places of guests go. */
  hooks: BookingHooksList
  forgetAnswers: ForgetAnswers
}

/** Bookings in the database. */
export function bookingRepository (db: Database, audit: Audit, { hooks, forgetAnswers }: Others) {
  const detail = db.select({ json: asJson(detailColumns), versione: t.versione }).from(t)
    .where(eq(t.id, sql.placeholder('id'))).prepare('booking_detail')
  const insert = db.insert(t).values(given).returning(versionedColumns).prepare('booking_creation')

  /** Those that exist, ascending. Locked in one order, so that two deletions cannot wait for each other. */
  async function lock (tx: Transaction, ids: readonly number[]): Promise<number[]> {
    const present = await tx.select({ id: t.id }).from(t).where(inArray(t.id, [...ids])).orderBy(t.id).for('update')
    return present.map(({ id }) => id)
  }

  async function remove (tx: Transaction, ids: readonly number[]): Promise<void> {
    for (const hook of hooks.beforeDelete) await hook(tx, ids)
    await tx.delete(t).where(inArray(t.id, [...ids]))
    await forgetAnswers(tx, {
      locations: ids.map((id) => `/api/v1/prenotazioni/${id}`), said: '"prenotazione_id":(\\d+)', names: ids
    })
  }

  /** In one statement. Undefined: there is no such booking, or none at an expected version. */
  async function updatePlain (id: number, fields: PlainChange, expected: Expected) {
    // One parameter, however many versions there are: each text of a statement is prepared on its own.
    const isExpected = expected && sql`${t.versione} = any(${`{${[...expected].join()}}`}::bigint[])`
    const [updated] = await db.update(t)
      .set({ ...fields, updated_at: sql`now()`, versione: sql`${t.versione} + 1` })
      .where(and(eq(t.id, id), isExpected))
      .returning(versionedColumns).prepare('booking_change').execute()
    return updated
  }

  /** What is kept of places that a booking for fewer guests has no more; those of saved guests stay. */
  async function removePlaces (tx: Transaction, id: number, now: number, before: number): Promise<void> {
    if (now >= before) return
    const first = Math.max(now, await tx.$count(ospiti, eq(ospiti.prenotazione_id, id)))
    const gone = Array.from({ length: Math.max(0, before - first) }, (_, index) => first + index)
    for (const hook of gone.length > 0 ? hooks.guestsRemoved : []) await hook(tx, id, gone)
  }

  return {
    /**
     * A booking with its guests, as PostgreSQL writes it in JSON.
     * @throws PrenotazioneNonTrovata
     */
    async find (id: number): Promise<{ json: string, versione: number }> {
      const [found] = await detail.execute({ id })
      if (!found) throw new PrenotazioneNonTrovata()
      return found
    },

    /** @param noteDone what else is written in the same transaction */
    async create (
      { check_in, check_out, numero_notti, email = null, telefono = null, idf_gen = null, ...rest }: BookingCreation,
      noteDone?: (tx: Transaction) => Promise<void>
    ): Promise<Versioned<Booking>> {
      const stay = newStay({ check_in, check_out, numero_notti })
      const row = { ...rest, ...stay, email, telefono, idf_gen }
      if (noteDone === undefined) {
        const [created] = await insert.execute(row)
        return versioned(created!)
      }
      return await db.transaction(async (tx) => {
        const [created] = await tx.insert(t).values(row).returning(versionedColumns)
        await noteDone(tx)
        return versioned(created!)
      })
    },

    /**
     * Changes the fields that are present.
     * @throws PrenotazioneNonTrovata
     * @throws PrenotazioneModificata when the booking is not at an expected version
     */
    async update (id: number, change: BookingUpdate, expected: Expected): Promise<Versioned<Booking>> {
      const { id: _id, ospiti: _ospiti, created_at: _created, updated_at: _updated, ...writable } = change
      const updated = isPlain(writable) ? await updatePlain(id, writable, expected) : undefined
      if (updated) return versioned(updated)
      return await db.transaction(async (tx) => {
        const [current] = await tx.select(versionedColumns).from(t).where(eq(t.id, id)).for('update')
        if (!current) throw new PrenotazioneNonTrovata()
        if (expected && !expected.has(current.versione)) throw new PrenotazioneModificata()
        if (Object.keys(writable).length === 0) return versioned(current)
        const { numero_notti: _notti, ...fields } = writable
        const stay = changedStay(current, change)
        const isMoved = stay.check_in !== current.check_in || stay.check_out !== current.check_out
        const [updated] = await tx.update(t)
          .set({
            ...fields,
            ...stay,
            updated_at: sql`now()`,
            ...isMoved ? { schedine_cambiate_il: sql`clock_timestamp()` } : {},
            versione: sql`${t.versione} + 1`
          })
          .where(eq(t.id, id))
          .returning(versionedColumns)
        await removePlaces(tx, id, updated!.numero_ospiti, current.numero_ospiti)
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
        const found = await lock(tx, ids)
        if (found.length === 0) return found
        await remove(tx, found)
        await audit.append(tx, { ...author, action: 'prenotazioni_eliminate', details: { ids: found.map(String) } })
        return found
      })
    },

    /**
     * Deletes a booking, if it still exists, and says what was held of it before and what is afterwards. Who did it is
     * written down.
     * @throws what a `beforeDelete` hook throws
     * @throws RegistroNonDisponibile
     */
    erase<Told> (id: number, author: Author, describe: (db: Executor) => Promise<Told>): Promise<Erasure<Told>> {
      return db.transaction(async (tx) => {
        const found = await lock(tx, [id])
        const before = await describe(tx)
        if (found.length === 0) return { existed: false, before, after: before }
        await remove(tx, found)
        const after = await describe(tx)
        await audit.append(tx, { ...author, action: 'dati_cancellati', object: `prenotazione:${id}` })
        return { existed: true, before, after }
      })
    }
  }
}

/** What neither the stay nor the number of guests follows from, which are judged by the booking as it is. */
type PlainChange = Pick<BookingUpdate, 'nome_cognome' | 'lingua' | 'email' | 'telefono' | 'paese_id' | 'idf_gen'>
const PLAIN: ReadonlySet<string> = new Set<keyof PlainChange>([
  'nome_cognome', 'lingua', 'email', 'telefono', 'paese_id', 'idf_gen'
])

function isPlain (change: object): change is PlainChange {
  const names = Object.keys(change)
  return names.length > 0 && names.every((name) => PLAIN.has(name))
}
