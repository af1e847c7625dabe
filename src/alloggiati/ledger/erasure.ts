import { and, eq, exists, gt, inArray, isNotNull, lt, notExists, or, sql, type SQL } from 'drizzle-orm'
import { invii_cancellazioni as erasures } from '#drizzle/tables/decisions.ts'
import { invii, invii_schedine as schedine } from '#drizzle/tables/ledger.ts'
import { ERASABLE_STATES, UNRESOLVED_ROW_OUTCOMES } from '#schemas/submission.ts'
import type { Database, Executor } from '#src/database/connect.ts'
import { RECEIPT_WINDOW_DAYS } from '../receipts/archive.ts'

/** Submissions in one transaction. */
const BATCH = 100

export interface Erased { submissions: number, rows: number }

/**
 * Erases the encrypted records of submissions that ended `days` days ago: the law wants transmitted data destroyed once
 * the receipt is there. Fingerprints, outcomes, receipts and history stay. A submission is kept whole as long as a
 * person may have to decide on one of its rows (once it was given up, no decision is left), and one that was acquired
 * in part as long as a receipt can contradict it.
 */
export async function eraseRecords (db: Database, days: number): Promise<Erased> {
  const erased: Erased = { submissions: 0, rows: 0 }
  for (let last = 0; ;) {
    const { ids, rows } = await eraseBatch(db, days, last)
    erased.submissions += ids.length
    erased.rows += rows
    if (ids.length < BATCH) return erased
    last = ids.at(-1)!
  }
}

/** When the records of the submission may be erased; null as long as it is not known. */
export function erasableFrom (db: Executor, days: number): SQL<string | null> {
  const unresolved = db.select({ one: sql`1` }).from(schedine)
    .where(and(eq(schedine.invio_id, invii.id), inArray(schedine.esito, UNRESOLVED_ROW_OUTCOMES)))
  const isOver = and(
    inArray(invii.stato, ERASABLE_STATES), or(eq(invii.stato, 'annullato'), notExists(unresolved))
  )
  const inPart = Math.max(days, RECEIPT_WINDOW_DAYS + 1)
  return sql`case when ${isOver} then ${invii.aggiornato_il} +
    case when ${invii.stato} = 'parziale' then ${inPart}::int else ${days}::int end * interval '1 day' end`
}

/** @param after the last submission of the batch before: what was erased is not walked through again */
async function eraseBatch (db: Database, days: number, after: number): Promise<{ ids: number[], rows: number }> {
  const rows = (condition: SQL) =>
    db.select({ one: sql`1` }).from(schedine).where(and(eq(schedine.invio_id, invii.id), condition))
  return db.transaction(async (tx) => {
    const found = await tx.select({ id: invii.id }).from(invii)
      .where(and(
        gt(invii.id, after),
        lt(erasableFrom(db, days), sql`now()`),
        exists(rows(isNotNull(schedine.riga)))
      ))
      .orderBy(invii.id).limit(BATCH).for('update', { skipLocked: true })
    const ids = found.map(({ id }) => id)
    if (ids.length === 0) return { ids, rows: 0 }
    const kept = and(inArray(schedine.invio_id, ids), isNotNull(schedine.riga))
    // The trigger lets a record be erased only where this stands.
    const recorded = await tx.insert(erasures)
      .select(
        tx
          .select({
            invio_id: schedine.invio_id,
            righe: sql<number>`count(*)::int`.as('righe'),
            quando: sql<string>`now()`.as('quando'),
            sigillo: sql<null>`null::bytea`.as('sigillo')
          })
          .from(schedine)
          .where(kept)
          .groupBy(schedine.invio_id)
      )
      .returning({ righe: erasures.righe })
    await tx.update(schedine).set({ riga: null }).where(kept)
    return { ids, rows: recorded.reduce((sum, { righe }) => sum + righe, 0) }
  })
}
