import { and, asc, eq, gt, inArray, isNotNull } from 'drizzle-orm'
import { invii, invii_schedine as schedine } from '#drizzle/tables/ledger.ts'
import { ACQUIRED_STATES, LIVE_ROW_OUTCOMES } from '#schemas/submission.ts'
import { apartmentsOfUnits } from '#src/bookings/index.ts'
import { isOneOf } from '#src/database/columns.ts'
import type { Executor } from '#src/database/connect.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { addDays, type Day } from '#src/lib/time.ts'
import { MAX_DECLARED_NIGHTS } from '../codec/layout.ts'

/* The apartments in sent rows. Apartment ids are valid only for one account. */

/** Whether the account manages apartments: a submission with an apartment was acquired for a recent arrival. */
export async function usesApartments (db: Executor, account: string, day: Day): Promise<boolean> {
  const [found] = await db.select({ id: invii.id }).from(invii).where(and(
    eq(invii.utente, account), gt(invii.data_arrivo, addDays(day, -MAX_DECLARED_NIGHTS)),
    isNotNull(invii.id_appartamento), inArray(invii.stato, ACQUIRED_STATES)
  )).limit(1)
  return found !== undefined
}

/** The apartments in each booking's live rows. The map has no entry for a booking without apartments. */
export async function sentApartments (
  db: Executor, account: string, bookings: readonly number[]
): Promise<ReadonlyMap<number, number[]>> {
  if (bookings.length === 0) return new Map()
  const { id_appartamento } = invii
  const found = await db.selectDistinct({ booking: schedine.prenotazione_id, id_appartamento }).from(schedine)
    .innerJoin(invii, eq(invii.id, schedine.invio_id))
    .where(and(
      isOneOf(schedine.prenotazione_id, bookings), inArray(schedine.esito, LIVE_ROW_OUTCOMES),
      eq(invii.utente, account), isNotNull(id_appartamento)
    ))
    .orderBy(asc(id_appartamento))
  return new Map([...Map.groupBy(found, ({ booking }) => booking!)].map(([booking, rows]) =>
    [booking, rows.map((row) => row.id_appartamento!)]))
}

/**
 * If the stay has no apartment, adds the apartment of its unit or its earlier Sends.
 * @throws CampiNonValidi when the earlier Sends had several apartments
 */
export async function withApartment<Stay extends { id?: number | undefined, id_appartamento?: number | undefined }> (
  stay: Stay, db: Executor, account: string
): Promise<Stay> {
  if (stay.id === undefined || stay.id_appartamento !== undefined) return stay
  const ofUnit = (await apartmentsOfUnits(db, [stay.id])).get(stay.id)
  if (ofUnit !== undefined) return { ...stay, id_appartamento: ofUnit }
  const [id_appartamento, ...others] = (await sentApartments(db, account, [stay.id])).get(stay.id) ?? []
  if (others.length === 0) return id_appartamento === undefined ? stay : { ...stay, id_appartamento }
  const all = [id_appartamento, ...others].join(', ')
  const messaggio = `va indicato: gli ospiti della prenotazione sono stati inviati con più appartamenti (${all})`
  throw new CampiNonValidi({ campo: 'id_appartamento', messaggio })
}
