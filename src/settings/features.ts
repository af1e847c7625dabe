import { asc, eq, sql } from 'drizzle-orm'
import { feature_flags as table } from '#drizzle/tables/settings.ts'
import type { FeatureFlag } from '#schemas/setting.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { TroppeFunzioni } from './errors.ts'

/** The list is public, and whole: there are no more flags than can be shown at once. */
export const MAX_FLAGS = 1000

/** All flags, in the order of their keys as bytes. */
export async function readFeatures (db: Executor): Promise<FeatureFlag[]> {
  return await db
    .select({ key: table.key, enabled: table.enabled })
    .from(table)
    .orderBy(asc(sql`${table.key} collate "C"`))
}

/** Sets a flag, or makes a new one. Returns what it was before; null: it is new. @throws TroppeFunzioni */
export async function setFeature (tx: Transaction, { key, enabled }: FeatureFlag): Promise<boolean | null> {
  // Writers one by one: what was before is what the other one wrote, and the count is right. Readers do not wait.
  await tx.execute(sql`lock table ${table} in share row exclusive mode`)
  const [before] = await tx.select({ enabled: table.enabled }).from(table).where(eq(table.key, key))
  if (!before && (await tx.$count(table)) >= MAX_FLAGS) throw new TroppeFunzioni(String(MAX_FLAGS))
  await tx
    .insert(table)
    .values({ key, enabled })
    .onConflictDoUpdate({ target: table.key, set: { enabled, updated_at: sql`now()` } })
  return before?.enabled ?? null
}
