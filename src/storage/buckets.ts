import { and, asc, desc, eq, ne, sql } from 'drizzle-orm'
import { buckets as t } from '#drizzle/tables/storage.ts'
import { BUCKETS, RENDITIONS } from '#schemas/storage.ts'
import type { BucketListQuery } from '#schemas/storage-bucket.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { postgresError } from '#src/database/problems.ts'
import { StorageError } from './protocol/errors.ts'

export type BucketRow = typeof t.$inferSelect
export type BucketSettings = Partial<Pick<BucketRow, 'public' | 'file_size_limit' | 'allowed_mime_types'>>

const BUILT_IN: ReadonlySet<string> = new Set(BUCKETS)
/** Maximum length and offset of a list, more than the buckets that administrators ever create. */
const BUCKETS_MAX = 1_000_000

/** SQLSTATE `foreign_key_violation`. */
const REFERENCED = '23503'

/** Whether a bucket is built in. Built-in buckets cannot be changed or deleted. */
export function isBuiltIn (bucket: string): boolean {
  return BUILT_IN.has(bucket)
}

export async function findBucket (db: Executor, id: string): Promise<BucketRow | undefined> {
  const [bucket] = await db.select().from(t).where(eq(t.id, id))
  return bucket
}

/** @throws StorageError NoSuchBucket */
export async function getBucket (db: Executor, id: string): Promise<BucketRow> {
  const bucket = await findBucket(db, id)
  if (!bucket) throw new StorageError('NoSuchBucket')
  return bucket
}

/** The buckets, except that of the renditions, in the requested order. By default all, by name. */
export async function listBuckets (db: Executor, query: BucketListQuery): Promise<BucketRow[]> {
  const { limit, offset = 0, sortColumn = 'name', sortOrder = 'asc', search } = query
  const column = sortColumn === 'created_at' || sortColumn === 'updated_at' ? t[sortColumn] : sql`${t.id} collate "C"`
  return await db.select().from(t)
    .where(and(ne(t.id, RENDITIONS), search ? sql`position(lower(${search}) in lower(${t.id})) > 0` : undefined))
    .orderBy((sortOrder === 'asc' ? asc : desc)(column), asc(t.id))
    .limit(Math.min(limit ?? BUCKETS_MAX, BUCKETS_MAX)).offset(Math.min(offset, BUCKETS_MAX))
}

/** @throws StorageError BucketAlreadyExists */
export async function createBucket (tx: Transaction, id: string, settings: BucketSettings): Promise<void> {
  const made = await tx.insert(t).values({ ...settings, id }).onConflictDoNothing().returning({ id: t.id })
  if (made.length === 0) throw new StorageError('BucketAlreadyExists')
}

/** @throws StorageError NoSuchBucket */
export async function updateBucket (tx: Transaction, id: string, settings: BucketSettings): Promise<void> {
  const changed = await tx.update(t).set({ ...settings, updated_at: sql`now()` }).where(eq(t.id, id))
    .returning({ id: t.id })
  if (changed.length === 0) throw new StorageError('NoSuchBucket')
}

/** @throws StorageError NoSuchBucket, ResourceNotEmpty */
export async function deleteBucket (tx: Transaction, id: string): Promise<void> {
  try {
    const deleted = await tx.delete(t).where(eq(t.id, id)).returning({ id: t.id })
    if (deleted.length === 0) throw new StorageError('NoSuchBucket')
  } catch (err) {
    throw postgresError(err)?.code === REFERENCED ? new StorageError('ResourceNotEmpty') : err
  }
}
