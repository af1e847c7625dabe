import { sql } from 'drizzle-orm'
import type { Link } from '#src/database/chain-head.ts'
import type { Executor } from '#src/database/connect.ts'

/** Result of a verification of the log. */
export interface Verification {
  integro: boolean
  righe: number
  /** The first row that was altered or inserted, or the number of the first missing row. */
  prima_riga_errata: number | null
}

/** Rows hashed per statement, so that a long log stays within the statement timeout. */
const BATCH = 1000

interface Batch extends Record<string, unknown> { rows: number, last: number | null, bad: number | null }

/**
 * Verifies the whole log, including rows with numbers below 1, which only an attacker can insert.
 * @param end a row that must exist, as noted outside the database
 */
export async function verifyChain (db: Executor, end: Link | undefined): Promise<Verification> {
  let righe = 0
  let bad: number | null = null
  let last: number | undefined
  for (;;) {
    const found = await verifyBatch(db, last, end)
    righe += found.rows
    bad ??= found.bad
    last = found.last ?? last
    if (found.rows < BATCH) break
  }
  if (end !== undefined && end.id > (last ?? 0)) bad ??= (last ?? 0) + 1
  return { integro: bad === null, righe, prima_riga_errata: bad }
}

/** @param after the last row of the previous batch */
async function verifyBatch (db: Executor, after: number | undefined, end: Link | undefined): Promise<Batch> {
  const [found] = await db.execute<Batch>(sql`
    select count(*)::int as rows, max(id) as last, min(bad) as bad from (
      select id, case
        when id <> coalesce(lag(id) over chain, ${after ?? 0}::int) + 1
          then least(id, coalesce(lag(id) over chain, ${after ?? 0}::int) + 1)
        when id = ${end?.id ?? null}::int and encode(hash, 'hex') <> ${end?.hash ?? null}::text then id
        when hash is distinct from catena_hash(
          coalesce(lag(hash) over chain, (select hash from audit_log where id = ${after ?? null}::int)),
          to_jsonb(batch)) then id
      end as bad
      from (
        select * from audit_log where ${after === undefined ? sql`true` : sql`id > ${after}`}
        order by id limit ${BATCH}) batch
      window chain as (order by id)) rows`)
  return found!
}
