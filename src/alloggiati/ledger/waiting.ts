import { and, eq, gt, inArray } from 'drizzle-orm'
import { invii } from '#drizzle/tables/ledger.ts'
import type { Executor } from '#src/database/connect.ts'

/**
 * Of these submissions those that were tried, or decided on, and wait for their next try, each with the time of it. A
 * new one is about to leave.
 */
export async function readWaiting (db: Executor, references: readonly string[]): Promise<ReadonlyMap<string, Date>> {
  if (references.length === 0) return new Map()
  const { ricevuta, stato, versione, lease_fino_al } = invii
  const found = await db.select({ ricevuta, lease_fino_al }).from(invii)
    .where(and(inArray(ricevuta, [...references]), eq(stato, 'pronto'), gt(versione, 0)))
  return new Map(found.map((each) => [each.ricevuta, new Date(each.lease_fino_al)]))
}
