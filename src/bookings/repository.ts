import { eq, inArray, sql } from 'drizzle-orm'
import type { FastifyInstance } from 'fastify'
import { ospiti, prenotazioni as t } from '#drizzle/tables/bookings.ts'
import type { Booking, BookingCreation, BookingUpdate } from '#schemas/booking.ts'
import { NessunaUnitaLibera, PrenotazioneModificata, PrenotazioneNonTrovata } from './errors.ts'
import { countWithNoun } from '#src/lib/count-with-noun.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { italianDay } from '#src/lib/time.ts'
import { asJson } from '#src/database/columns.ts'
import type { AuditEntry, Author } from '#src/services/audit/log.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { keptStatements, placeholders } from '#src/database/kept-statements.ts'
import type { DoneNote } from '#src/http/idempotency/plugin.ts'
import { bookingColumns, detailColumns } from './booking-columns.ts'
import type { GuestsRemoved } from './booking-hooks.ts'
import { leftOutFaults } from './guest-days.ts'
import { changedStay, newStay, type Stay } from './stay.ts'
import { lockStay } from './stays.ts'
import { occupying } from './units/overlap.ts'
import { freeUnits } from './units/unit-repository.ts'

/** A booking and its current version number, which is its ETag. */
interface Versioned { booking: Booking, versione: number }

interface Created { json: string, id: number, versione: number }

/** The personal-data report before and after the deletion. */
interface Erasure<Report> { existed: boolean, before: Report, after: Report }

/** Further writes in the same transaction. */
type NoteDone = (tx: Transaction) => Promise<void>

/** The versions that a change accepts. Undefined accepts any. */
type Expected = ReadonlySet<number> | undefined

const runKept = keptStatements()
const versionedColumns = { ...bookingColumns, versione: t.versione }

export type BookingRepository = ReturnType<typeof bookingRepository>

export function bookingRepository (
  { db, sql: driver, audit, bookingHooks, eraseResponses }:
  Pick<FastifyInstance, 'db' | 'sql' | 'audit' | 'bookingHooks' | 'eraseResponses'>
) {
  // The driver runs this statement without Drizzle, which would take a tenth of the request's processor time.
  const detail = db.select({ json: asJson(detailColumns).as('json'), versione: t.versione }).from(t)
    .where(eq(t.id, sql.placeholder('id'))).toSQL().sql

  async function remove (tx: Transaction, ids: readonly number[]): Promise<void> {
    for (const hook of bookingHooks.beforeDelete) await hook(tx, ids)
    await tx.delete(t).where(inArray(t.id, [...ids]))
    await eraseResponses(tx, {
      locations: ids.map((id) => `/api/v1/prenotazioni/${id}`), said: '"prenotazione_id":(\\d+)', names: ids
    })
  }

  return {
    /** A booking with its guests, as JSON written by PostgreSQL. @throws PrenotazioneNonTrovata */
    async find (id: number): Promise<{ json: string, versione: number }> {
      const [found] = await driver.unsafe<{ json: string, versione: number }[]>(detail, [id], { prepare: true })
      if (!found) throw new PrenotazioneNonTrovata()
      return found
    },

    /**
     * Creates a booking in one statement. Triggers write its nights, its event and the counts.
     * @param doneNote a further write of the same statement
     * @returns JSON written by PostgreSQL
     * @throws UnitaOccupata, CampiNonValidi
     */
    async create (booking: BookingCreation, doneNote: DoneNote | undefined): Promise<Created> {
      const values: Record<string, unknown> = bookingValues(booking)
      const names = Object.keys(values).filter((name) => values[name] !== undefined).sort()
      const key = [doneNote !== undefined, ...names].join()
      const [created] = await occupying(() => runKept<Created[]>(db, key, { ...values, ...doneNote?.values }, () =>
        db.with(...doneNote ? [doneNote.note] : []).insert(t)
          .values(placeholders(names) as unknown as typeof t.$inferInsert)
          .returning({ json: asJson(bookingColumns).as('json'), id: t.id, versione: t.versione })))
      return created!
    },

    /**
     * Changes the fields that are present.
     * @throws PrenotazioneNonTrovata
     * @throws PrenotazioneModificata when the booking is not at an expected version
     * @throws UnitaOccupata, CampiNonValidi
     */
    update: (id: number, change: BookingUpdate, expected: Expected): Promise<Versioned> =>
      occupying(() => db.transaction((tx) => update(tx, id, change, expected, bookingHooks.guestsRemoved))),

    /**
     * Assigns the smallest free unit that has room for the guests. A booking that has a unit keeps it.
     * @throws PrenotazioneNonTrovata, NessunaUnitaLibera
     * @throws UnitaOccupata when another booking takes the unit at the same time
     */
    assign: (id: number, noteDone: NoteDone): Promise<Versioned> =>
      occupying(() => db.transaction(async (tx) => {
        const current = await lockStay(tx, id)
        const change = current.unita_id === null ? { unita_id: await smallestFree(tx, current) } : {}
        const assigned = await update(tx, id, change, undefined, bookingHooks.guestsRemoved)
        await noteDone(tx)
        return assigned
      })),

    /**
     * Deletes either all bookings with their guests or none, and records it in the audit log.
     * @returns the ids that existed, ascending
     * @throws errors of `beforeDelete` hooks
     * @throws RegistroNonDisponibile
     */
    deleteMany (ids: readonly number[], author: Pick<AuditEntry, 'actor' | 'ip'>): Promise<number[]> {
      return db.transaction(async (tx) => {
        const found = await lock(tx, ids)
        if (found.length === 0) return found
        await remove(tx, found)
        await audit.append(tx, { ...author, action: 'prenotazioni_eliminate', details: { ids: found.map(String) } })
        return found
      })
    },

    /**
     * Deletes a booking, if it still exists, and returns the personal-data report before and after. The audit log
     * records it.
     * @throws errors of `beforeDelete` hooks
     * @throws RegistroNonDisponibile
     */
    erase<Report> (id: number, author: Author, describe: (db: Executor) => Promise<Report>): Promise<Erasure<Report>> {
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

/** Deletes bookings like a request of a user. The server is the actor in the audit log. */
export async function eraseBookings (app: FastifyInstance, ids: readonly number[]): Promise<void> {
  await bookingRepository(app).deleteMany(ids, { actor: 'sistema' })
}

/** The ids that exist, ascending. Rows are locked in that order, so that two deletions cannot deadlock. */
async function lock (tx: Transaction, ids: readonly number[]): Promise<number[]> {
  const present = await tx.select({ id: t.id }).from(t).where(inArray(t.id, [...ids])).orderBy(t.id).for('update')
  return present.map(({ id }) => id)
}

/** The columns of a new booking. @throws CampiNonValidi for the errors of `newStayErrors` */
export function bookingValues (
  { check_in, check_out, numero_notti, email = null, telefono = null, idf_gen = null, ...rest }: BookingCreation
) {
  return { ...priced(rest), ...newStay({ check_in, check_out, numero_notti }), email, telefono, idf_gen }
}

async function update (
  tx: Transaction, id: number, change: BookingUpdate, expected: Expected, guestsRemoved: readonly GuestsRemoved[]
): Promise<Versioned> {
  const { id: _id, ospiti: _ospiti, created_at: _created, updated_at: _updated, numero_notti: _, ...fields } = change
  const [current] = await tx.select(versionedColumns).from(t).where(eq(t.id, id)).for('update')
  if (!current) throw new PrenotazioneNonTrovata()
  if (expected && !expected.has(current.versione)) throw new PrenotazioneModificata()
  if (Object.keys(fields).length === 0 && change.numero_notti === undefined) return versioned(current)
  const stay = changedStay(current, change)
  const isMoved = stay.check_in !== current.check_in || stay.check_out !== current.check_out
  if (isMoved) await refuseLeftOut(tx, id, stay, change)
  const { stato = current.stato } = fields
  const { prezzo, valuta } = priced({ ...current, ...fields })
  const [updated] = await tx.update(t)
    .set({
      ...fields,
      prezzo,
      valuta,
      ...stay,
      updated_at: sql`now()`,
      ...isMoved || stato !== current.stato ? { schedine_cambiate_il: sql`clock_timestamp()` } : {},
      versione: sql`${t.versione} + 1`
    })
    .where(eq(t.id, id))
    .returning(versionedColumns)
  // The places that a booking loses with a lower number of guests. Places of saved guests stay.
  const { numero_ospiti: now } = updated!
  const first = now < current.numero_ospiti
    ? Math.max(now, await tx.$count(ospiti, eq(ospiti.prenotazione_id, id)))
    : current.numero_ospiti
  const gone = Array.from({ length: Math.max(0, current.numero_ospiti - first) }, (_, index) => first + index)
  for (const hook of gone.length > 0 ? guestsRemoved : []) await hook(tx, id, gone)
  return versioned(updated!)
}

/** A price without currency is in euro. */
function priced<T extends { prezzo?: number | null, valuta?: string | null }> (booking: T) {
  const { prezzo = null, valuta = null } = booking
  return { ...booking, prezzo, valuta: valuta ?? (prezzo === null ? null : 'EUR') }
}

/** @throws NessunaUnitaLibera */
async function smallestFree (tx: Transaction, stay: Stay & { numero_ospiti: number }): Promise<number> {
  const { check_in, check_out, numero_ospiti } = stay
  const [smallest] = (await freeUnits(tx, stay, numero_ospiti)).sort((a, b) => a.ospiti_massimi - b.ospiti_massimi)
  if (smallest) return smallest.id
  const guests = countWithNoun(numero_ospiti, 'ospite', 'ospiti')
  throw new NessunaUnitaLibera(guests, italianDay(check_in), italianDay(check_out))
}

/** @throws CampiNonValidi when saved guests have own days outside the new stay */
async function refuseLeftOut (tx: Transaction, id: number, stay: Stay, change: BookingUpdate): Promise<void> {
  const { arrivo, partenza, indice } = ospiti
  const guests = await tx.select({ arrivo, partenza }).from(ospiti).where(eq(ospiti.prenotazione_id, id))
    .orderBy(indice)
  const end = (['check_out', 'numero_notti'] as const).find((field) => change[field] !== undefined) ?? 'check_in'
  const faults = leftOutFaults(guests, stay, end)
  if (faults.length > 0) throw new CampiNonValidi(...faults)
}

function versioned ({ versione, ...booking }: Booking & { versione: number }): Versioned {
  return { booking, versione }
}
