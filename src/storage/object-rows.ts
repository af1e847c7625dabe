import { and, asc, eq, inArray, sql, type SQL } from 'drizzle-orm'
import { objects as t } from '#drizzle/tables/storage.ts'
import { lockForShare } from '#src/bookings/index.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import type { FileService, StoredFile } from '#src/services/files/file-service.ts'

/** The files of a bucket that a caller may see: all, or those of one owner. */
export interface View { bucket: string, owner?: string | undefined }

/** The condition on rows for a view. */
export function inView ({ bucket, owner }: View): SQL {
  return and(eq(t.bucket, bucket), owner === undefined ? undefined : eq(t.owner, owner))!
}

/** The files with these names that the caller may see. */
export async function findVisible (db: Executor, view: View, names: readonly string[]): Promise<StoredFile[]> {
  if (names.length === 0) return []
  return await db.select().from(t).where(and(inView(view), inArray(t.name, [...names])))
}

/**
 * Discards files by name.
 * @returns the files that existed
 */
export async function discardByName (
  tx: Transaction, files: FileService, bucket: string, names: readonly string[]
): Promise<StoredFile[]> {
  // The lock prevents concurrent uploads to these bookings, and purges of them.
  if (bucket === 'documents') await lockForShare(tx, bookingsOf(names))
  const found = await tx.select().from(t)
    .where(and(eq(t.bucket, bucket), inArray(t.name, [...names]))).orderBy(asc(t.id)).for('update')
  await files.discard(tx, found)
  return found
}

/** Discards a batch of a bucket's files and returns their number. */
export async function discardSome (
  tx: Transaction, files: FileService, bucket: string, limit: number
): Promise<number> {
  const found = await tx.select({ id: t.id }).from(t).where(eq(t.bucket, bucket)).orderBy(asc(t.id)).limit(limit)
    .for('update')
  await files.discard(tx, found)
  return found.length
}

/** Locks a file, so that it cannot be moved or discarded until the transaction ends. */
export async function lockFile (tx: Transaction, id: string): Promise<StoredFile | undefined> {
  const [found] = await tx.select().from(t).where(eq(t.id, id)).for('update')
  return found
}

export async function isTaken (db: Executor, bucket: string, name: string): Promise<boolean> {
  const [found] = await db.select({ one: sql`1` }).from(t).where(and(eq(t.bucket, bucket), eq(t.name, name)))
  return found !== undefined
}

/** The images of a booking are named `<booking>/<guest>/<side>.<ext>`. */
function bookingsOf (names: readonly string[]): number[] {
  const ids = names.map((name) => Number(/^(\d{1,10})\//.exec(name)?.[1]))
  return [...new Set(ids.filter((id) => id >= 1 && id <= 2_147_483_647))]
}
