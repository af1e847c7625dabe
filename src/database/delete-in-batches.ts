import { sql, type SQL } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { Database } from './connect.ts'

/** Rows per statement. Even with cascades, a batch takes far less than the statement timeout. */
const BATCH = 2000

/**
 * Deletes the matching rows, except those that other transactions have locked. Each batch is its own transaction, so
 * that a later failure does not undo earlier deletions.
 * @returns the number of deleted rows
 */
export async function deleteInBatches (
  db: Database, table: PgTable, condition: SQL | undefined, batch = BATCH
): Promise<number> {
  for (let total = 0; ;) {
    const { count } = await db.execute(sql`
      delete from ${table} where ctid = any(array(
        select ctid from ${table} where ${condition} limit ${batch} for update skip locked))`)
    total += count
    if (count < batch) return total
  }
}
