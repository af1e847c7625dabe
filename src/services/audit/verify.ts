import { asc, gt } from 'drizzle-orm'
import { audit_log as t } from '#drizzle/tables/audit.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Link } from '#src/database/chain-head.ts'
import type { Executor } from '#src/database/connect.ts'
import { linkHash } from './link.ts'

/** What a walk through the log has found. */
export interface Verification {
  integro: boolean
  righe: number
  /** The first row that was altered or put in, or the number of the first that is missing. */
  prima_riga_errata: number | null
}

type Row = typeof t.$inferSelect

/** Rows in memory at a time, however long the log is. */
const BATCH = 1000

/**
 * Walks through the whole log.
 * @param end a row that must be there, as it was noted outside of the database
 */
export async function verifyChain (db: Executor, keys: Keys, end: Link | undefined): Promise<Verification> {
  const key = keys.derive('audit')
  let righe = 0
  let bad: number | null = null
  let previous: Row | undefined
  for await (const row of rows(db)) {
    righe++
    bad ??= fault(key, row, previous, end)
    previous = row
  }
  const last = previous?.id ?? 0
  if (end !== undefined && end.id > last) bad ??= last + 1
  return { integro: bad === null, righe, prima_riga_errata: bad }
}

function fault (key: Buffer, row: Row, previous: Row | undefined, end: Link | undefined): number | null {
  const expected = (previous?.id ?? 0) + 1
  if (row.id !== expected) return Math.min(row.id, expected)
  const isEnd = row.id !== end?.id || row.hash.toString('hex') === end.hash
  return isEnd && linkHash(key, row, previous?.hash).equals(row.hash) ? null : row.id
}

/** Whether the log was begun with these keys; true also of an empty one. */
export async function isAuditKey (db: Executor, keys: Keys): Promise<boolean> {
  const [first] = await db.select().from(t).orderBy(asc(t.id)).limit(1)
  return first === undefined || linkHash(keys.derive('audit'), first, undefined).equals(first.hash)
}

/** Every row of the table, also with numbers below 1, which only a forger writes. */
async function * rows (db: Executor): AsyncGenerator<Row> {
  let last: number | undefined
  for (;;) {
    const batch = await db
      .select()
      .from(t)
      .where(last === undefined ? undefined : gt(t.id, last))
      .orderBy(asc(t.id))
      .limit(BATCH)
    yield * batch
    if (batch.length < BATCH) return
    last = batch.at(-1)!.id
  }
}
