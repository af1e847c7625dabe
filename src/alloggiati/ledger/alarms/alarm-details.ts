import { and, asc, eq, inArray, isNotNull } from 'drizzle-orm'
import { invii, invii_schedine as schedine } from '#drizzle/tables/ledger.ts'
import { establishmentsOf, listEstablishments } from '#src/bookings/index.ts'
import type { Executor } from '#src/database/connect.ts'
import type { AlarmFacts } from './alarm-kinds.ts'

/**
 * Adds to each alarm the bookings of its submission. If the installation has several establishments, also adds those of
 * the bookings. If the bookings have none, adds the account of the submission.
 */
export async function withDetails (db: Executor, cases: readonly AlarmFacts[]): Promise<AlarmFacts[]> {
  const detailed: AlarmFacts[] = []
  for (const facts of cases) detailed.push(await withBookings(db, facts))
  const establishments = await listEstablishments(db)
  if (establishments.length < 2) return detailed
  const ofBookings = await establishmentsOf(db, detailed.flatMap(bookingsOf))
  const accounts = await accountsOf(db, detailed.flatMap(({ invio }) => invio ?? []))
  return detailed.map((facts) => {
    const own = new Set(bookingsOf(facts).map((id) => ofBookings.get(id)))
    const strutture = establishments.filter(({ id }) => own.has(id)).map(({ id, nome }) => ({ id, nome }))
    if (strutture.length > 0) return { ...facts, strutture }
    const utente = facts.utente ?? accounts.get(facts.invio)
    return utente === undefined ? facts : { ...facts, utente }
  })
}

function bookingsOf ({ prenotazione, prenotazioni = [] }: AlarmFacts): readonly number[] {
  return prenotazione === undefined ? prenotazioni : [prenotazione]
}

async function withBookings (db: Executor, facts: AlarmFacts): Promise<AlarmFacts> {
  if (facts.invio === undefined || facts.prenotazione !== undefined || facts.prenotazioni !== undefined) return facts
  const { prenotazione_id } = schedine
  const found = await db.selectDistinct({ prenotazione_id }).from(schedine)
    .where(and(eq(schedine.invio_id, facts.invio), isNotNull(prenotazione_id))).orderBy(asc(prenotazione_id))
  const prenotazioni = found.flatMap(({ prenotazione_id: id }) => id ?? [])
  return prenotazioni.length === 0 ? facts : { ...facts, prenotazioni }
}

async function accountsOf (
  db: Executor, submissions: readonly number[]
): Promise<ReadonlyMap<number | undefined, string>> {
  const found = submissions.length === 0
    ? []
    : await db.select({ id: invii.id, utente: invii.utente }).from(invii).where(inArray(invii.id, [...submissions]))
  return new Map(found.map(({ id, utente }) => [id, utente]))
}
