import { and, asc, eq, getTableColumns, gte, isNull, lt, or, sql } from 'drizzle-orm'
import { prenotazioni } from '#drizzle/tables/bookings.ts'
import { occupazione } from '#drizzle/tables/occupancy.ts'
import { unita as t } from '#drizzle/tables/units.ts'
import { Unit, type UnitCreation, type UnitUpdate } from '#schemas/unit.ts'
import type { Database, Executor, Transaction } from '#src/database/connect.ts'
import { LOCKS } from '#src/database/locks.ts'
import { postgresError } from '#src/database/problems.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { countWithNoun } from '#src/lib/count-with-noun.ts'
import { addDays, italianDay, type Day } from '#src/lib/time.ts'
import type { Stay } from '../stay.ts'
import { UnitaInUso, UnitaNonTrovata } from '../errors.ts'

const UNIQUE = '23505'
const FOREIGN_KEY = '23503'

const inHostOrder = [asc(t.ordine), asc(t.nome)]

/** All units, in the host's order. */
export function listUnits (db: Executor): Promise<Unit[]> {
  return db.select(getTableColumns(t)).from(t).orderBy(...inHostOrder)
}

/** @throws UnitaNonTrovata */
export async function findUnit (db: Executor, id: number): Promise<Unit> {
  const [found] = await db.select().from(t).where(eq(t.id, id))
  if (!found) throw new UnitaNonTrovata()
  return found
}

/**
 * The units that are in use and free in every night of a stay, in the host's order.
 * @param guests leaves out the units that are too small
 */
export function freeUnits (db: Executor, { check_in, check_out }: Stay, guests = 1): Promise<Unit[]> {
  return db.select(getTableColumns(t)).from(t).where(and(
    gte(t.ospiti_massimi, guests),
    or(isNull(t.attiva_da), sql`${t.attiva_da} <= ${check_in}`),
    or(isNull(t.attiva_a), sql`${t.attiva_a} >= ${addDays(check_out, -1)}`),
    sql`not exists (select from ${occupazione} where ${occupazione.unita_id} = ${t.id}
      and ${occupazione.dal} < ${check_out} and ${occupazione.al} > ${check_in})`
  )).orderBy(...inHostOrder)
}

/** @throws CampiNonValidi when another unit has the name, or the establishment does not exist */
export async function createUnit (tx: Transaction, given: UnitCreation): Promise<Unit> {
  const { posti_letto = given.ospiti_massimi, ...rest } = given
  const [created] = await withFieldErrors(() => tx.insert(t).values({ ...rest, posti_letto }).returning())
  return created!
}

/**
 * Changes the fields that are present.
 * @throws UnitaNonTrovata, CampiNonValidi
 * @throws UnitaInUso when a booking would lie outside the days of use
 */
export async function updateUnit (db: Database, id: number, change: UnitUpdate): Promise<Unit> {
  const { id: _, ...fields } = change
  return await db.transaction(async (tx) => {
    // The lock makes concurrent bookings of the unit wait. They then read the new days of use.
    await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.units}::int, ${id}::int)`)
    const current = await findUnit(tx, id)
    const next = { ...current, ...fields }
    if (next.attiva_da && next.attiva_a && next.attiva_a < next.attiva_da) {
      throw new CampiNonValidi({ campo: 'attiva_a', messaggio: 'non può essere prima di attiva_da' })
    }
    await requireInUse(tx, id, next)
    if (Object.keys(fields).length === 0) return current
    const [updated] = await withFieldErrors(() => tx.update(t).set(fields).where(eq(t.id, id)).returning())
    return updated!
  })
}

async function requireInUse (
  tx: Transaction, id: number, { attiva_da, attiva_a }: { attiva_da: Day | null, attiva_a: Day | null }
): Promise<void> {
  const [outside] = await tx.select().from(occupazione).where(and(
    eq(occupazione.unita_id, id),
    sql`${occupazione.prenotazione_id} is not null`,
    or(
      attiva_da === null ? undefined : lt(occupazione.dal, attiva_da),
      attiva_a === null ? undefined : sql`${occupazione.al} > ${addDays(attiva_a, 1)}`
    )
  )).orderBy(asc(occupazione.dal)).limit(1)
  if (outside && (attiva_da ?? attiva_a)) {
    const { prenotazione_id, dal, al } = outside
    throw new UnitaInUso(`la prenotazione ${prenotazione_id} dal ${italianDay(dal)} al ${italianDay(al)}`)
  }
}

/**
 * Deletes a unit with its blocks.
 * @throws UnitaNonTrovata
 * @throws UnitaInUso when it has bookings, in any state
 */
export async function deleteUnit (tx: Transaction, id: number): Promise<void> {
  const bookings = await tx.$count(prenotazioni, eq(prenotazioni.unita_id, id))
  if (bookings > 0) throw new UnitaInUso(countWithNoun(bookings, 'prenotazione', 'prenotazioni'))
  const deleted = await tx.delete(t).where(eq(t.id, id)).returning({ id: t.id })
  if (deleted.length === 0) throw new UnitaNonTrovata()
}

/** Runs a write. @throws CampiNonValidi for a name in use, or an establishment that does not exist */
async function withFieldErrors<T> (write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (err) {
    const code = postgresError(err)?.code
    if (code === FOREIGN_KEY) {
      throw new CampiNonValidi({ campo: 'struttura_id', messaggio: 'non esiste: l’elenco è in /api/v1/strutture' })
    }
    if (code !== UNIQUE) throw err
    throw new CampiNonValidi({ campo: 'nome', messaggio: 'è già il nome di un’altra unità' })
  }
}
