import { asc, eq, sql } from 'drizzle-orm'
import { struttura as t } from '#drizzle/tables/establishments.ts'
import { unita } from '#drizzle/tables/units.ts'
import {
  EstablishmentRecord, type EstablishmentChange, type EstablishmentCreation
} from '#schemas/establishment-record.ts'
import { fieldNames } from '#schemas/common.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { postgresError } from '#src/database/problems.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { countWithNoun } from '#src/lib/count-with-noun.ts'
import { StrutturaCambiata, StrutturaInUso, StrutturaNonTrovata } from '../errors.ts'

/** The first establishment. It cannot be deleted, and has the units and bookings without another one. */
export const FIRST_ESTABLISHMENT = 1

const FOREIGN_KEY = '23503'
const NAMES = fieldNames(EstablishmentRecord)
const TIME_ZONES = new Set(Intl.supportedValuesOf('timeZone'))

type Row = typeof t.$inferSelect

/** Without the texts for letters, which include a password. */
function present (row: Row): EstablishmentRecord {
  const updated_at = row.versione === 0 ? null : row.updated_at.toISOString()
  return Object.fromEntries(NAMES.map((name) =>
    [name, name === 'updated_at' ? updated_at : row[name]])) as EstablishmentRecord
}

export async function listEstablishments (db: Executor): Promise<EstablishmentRecord[]> {
  return (await db.select().from(t).orderBy(asc(t.id))).map(present)
}

export async function establishmentIds (db: Executor): Promise<number[]> {
  return (await db.select({ id: t.id }).from(t).orderBy(asc(t.id))).map(({ id }) => id)
}

/** @throws StrutturaNonTrovata */
export async function findEstablishment (db: Executor, id: number): Promise<EstablishmentRecord> {
  const [found] = await db.select().from(t).where(eq(t.id, id))
  if (!found) throw new StrutturaNonTrovata()
  return present(found)
}

/** @throws CampiNonValidi */
export async function createEstablishment (
  tx: Transaction, given: EstablishmentCreation
): Promise<EstablishmentRecord> {
  requireTimeZone(given)
  const [created] = await tx.insert(t).values({ ...given, versione: 1 }).returning()
  return present(created!)
}

/**
 * Changes the fields that are present.
 * @param expected the versions that may be changed; undefined means any
 * @throws StrutturaNonTrovata, StrutturaCambiata (412), CampiNonValidi
 */
export async function changeEstablishment (
  tx: Transaction, id: number, change: EstablishmentChange, expected: ReadonlySet<number> | undefined
): Promise<EstablishmentRecord> {
  const { id: _id, versione: _versione, updated_at: _at, ...fields } = change
  requireTimeZone(fields)
  const [current] = await tx.select().from(t).where(eq(t.id, id)).for('update')
  if (!current) throw new StrutturaNonTrovata()
  if (expected && !expected.has(current.versione)) throw new StrutturaCambiata()
  if (Object.keys(fields).length === 0) return present(current)
  const [changed] = await tx.update(t).set({ ...fields, versione: sql`${t.versione} + 1`, updated_at: sql`now()` })
    .where(eq(t.id, id)).returning()
  return present(changed!)
}

/**
 * @throws StrutturaNonTrovata
 * @throws StrutturaInUso for the first one, and while it has units or a police account
 */
export async function deleteEstablishment (tx: Transaction, id: number): Promise<void> {
  if (id === FIRST_ESTABLISHMENT) throw new StrutturaInUso('è la prima')
  const units = await tx.$count(unita, eq(unita.struttura_id, id))
  if (units > 0) throw new StrutturaInUso(`ha ${countWithNoun(units, 'unità', 'unità')}`)
  try {
    const deleted = await tx.delete(t).where(eq(t.id, id)).returning({ id: t.id })
    if (deleted.length === 0) throw new StrutturaNonTrovata()
  } catch (err) {
    if (postgresError(err)?.code !== FOREIGN_KEY) throw err
    throw new StrutturaInUso('ha un account della Polizia, o unità')
  }
}

function requireTimeZone ({ fuso_orario: zone }: EstablishmentChange): void {
  if (zone === undefined || TIME_ZONES.has(zone)) return
  throw new CampiNonValidi({ campo: 'fuso_orario', messaggio: 'deve essere un fuso orario, per esempio Europe/Rome' })
}
