import { and, asc, countDistinct, count, eq, gt, gte, isNull, lte, max, sql, sum } from 'drizzle-orm'
import { sandbox_appartamenti, sandbox_schedine, sandbox_token } from '#drizzle/tables/alloggiati.ts'
import { isoInstant } from '#src/database/columns.ts'
import type { Database, Executor } from '#src/database/connect.ts'
import { LOCKS } from '#src/database/locks.ts'
import type { Day } from '#src/lib/time.ts'

export type Apartment = Omit<typeof sandbox_appartamenti.$inferSelect, 'utente' | 'disabilitato_il'>

/* The state of the sandbox. The database contains all of it, so restarts and other instances keep it. */

/** Stores a token until it expires, and deletes expired tokens. Earlier tokens stay valid. */
export async function storeToken (db: Executor, token: typeof sandbox_token.$inferInsert, now: Date): Promise<void> {
  await db.delete(sandbox_token).where(lte(sandbox_token.scade_il, now.toISOString()))
  await db.insert(sandbox_token).values(token)
}

export async function isTokenValid (db: Executor, token: string, utente: string, now: Date): Promise<boolean> {
  const { token: given, utente: account, scade_il } = sandbox_token
  const isKept = and(eq(given, token), eq(account, utente), gt(scade_il, now.toISOString()))
  return await db.$count(sandbox_token, isKept) > 0
}

/**
 * Acquires all rows or none. A row sent twice is acquired twice. The real service may refuse the second row, but the
 * sandbox shows the worst case.
 */
export async function acquire (db: Executor, rows: (typeof sandbox_schedine.$inferInsert)[]): Promise<void> {
  if (rows.length > 0) await db.insert(sandbox_schedine).values(rows)
}

/** The schedine of an account in order of acquisition. */
export async function acquired (db: Executor, utente: string) {
  const { id, riga, giorno, acquisita_il, id_appartamento } = sandbox_schedine
  return await db.select({ id, riga, giorno, acquisita_il: isoInstant(acquisita_il), id_appartamento })
    .from(sandbox_schedine).where(eq(sandbox_schedine.utente, utente)).orderBy(asc(id))
}

export interface DayTotals {
  schedine: number
  notti: number
  /** The number of the receipt: the position of its day among the days of the year with schedine. */
  numero: number
}

export async function dayTotals (db: Executor, utente: string, giorno: Day): Promise<DayTotals | undefined> {
  const [totals] = await db
    .select({ schedine: count(), notti: sum(sandbox_schedine.permanenza).mapWith(Number) })
    .from(sandbox_schedine)
    .where(and(eq(sandbox_schedine.utente, utente), eq(sandbox_schedine.giorno, giorno)))
  if (!totals || totals.schedine === 0) return undefined
  const [order] = await db.select({ numero: countDistinct(sandbox_schedine.giorno) }).from(sandbox_schedine)
    .where(and(
      eq(sandbox_schedine.utente, utente),
      gte(sandbox_schedine.giorno, `${giorno.slice(0, 4)}-01-01`),
      lte(sandbox_schedine.giorno, giorno)))
  return { ...totals, numero: order?.numero ?? 1 }
}

export async function activeApartments (db: Executor, utente: string): Promise<Apartment[]> {
  const { id, descrizione, comune_codice, indirizzo, proprietario, disabilitato_il } = sandbox_appartamenti
  return await db.select({ id, descrizione, comune_codice, indirizzo, proprietario }).from(sandbox_appartamenti)
    .where(and(eq(sandbox_appartamenti.utente, utente), isNull(disabilitato_il))).orderBy(asc(id))
}

/** Adds an apartment with the account's next number. The numbers start at 0. */
export async function addApartment (db: Database, utente: string, apartment: Omit<Apartment, 'id'>): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.sandboxApartments}, hashtext(${utente}))`)
    const [last] = await tx.select({ id: max(sandbox_appartamenti.id) }).from(sandbox_appartamenti)
      .where(eq(sandbox_appartamenti.utente, utente))
    await tx.insert(sandbox_appartamenti).values({ ...apartment, utente, id: (last?.id ?? -1) + 1 })
  })
}

/** Disables an apartment permanently, like the real service. Returns false if no such active apartment exists. */
export async function disableApartment (db: Executor, utente: string, id: number, now: Date): Promise<boolean> {
  const disabled = await db
    .update(sandbox_appartamenti)
    .set({ disabilitato_il: now.toISOString() })
    .where(and(
      eq(sandbox_appartamenti.utente, utente),
      eq(sandbox_appartamenti.id, id),
      isNull(sandbox_appartamenti.disabilitato_il)
    ))
    .returning({ id: sandbox_appartamenti.id })
  return disabled.length > 0
}
