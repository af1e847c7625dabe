import { asc, eq, sql } from 'drizzle-orm'
import { feature_flags as table } from '#drizzle/tables/settings.ts'
import type { FeatureFlag } from '#schemas/setting.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { TroppeFunzioni } from './errors.ts'

/** Maximum number of flags, because the list is public and has no pages. */
export const MAX_FLAGS = 1000

/** All flags, in the byte order of their keys. */
export async function readFeatures (db: Executor): Promise<FeatureFlag[]> {
  return await db
    .select({ key: table.key, enabled: table.enabled })
    .from(table)
    .orderBy(asc(sql`${table.key} collate "C"`))
}

/** Sets or creates a flag. Returns its previous value. Null for a new one. @throws TroppeFunzioni */
export async function setFeature (tx: Transaction, { key, enabled }: FeatureFlag): Promise<boolean | null> {
  // Changes run one after the other, so that the previous value and the count are right. Readers do not wait.
  await tx.execute(sql`lock table ${table} in share row exclusive mode`)
  const [before] = await tx.select({ enabled: table.enabled }).from(table).where(eq(table.key, key))
  if (!before && (await tx.$count(table)) >= MAX_FLAGS) throw new TroppeFunzioni(String(MAX_FLAGS))
  await tx
    .insert(table)
    .values({ key, enabled })
    .onConflictDoUpdate({ target: table.key, set: { enabled, updated_at: sql`now()` } })
  return before?.enabled ?? null
}
