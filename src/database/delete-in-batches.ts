import { sql, type SQL } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { Database } from './connect.ts'

/** Rows in one statement: far from the time limit of a statement, also where each takes others with it. */
const BATCH = 2000

/**
 * Deletes the rows of a table that fulfil a condition, however many there are: each batch is a transaction of its own,
 * so that what is deleted stays so when a later one fails. A row that another transaction holds is left for next time.
 * @returns how many were deleted
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
