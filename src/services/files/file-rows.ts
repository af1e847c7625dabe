import { and, asc, eq, getTableColumns, inArray, sql, type SQL } from 'drizzle-orm'
import { discarded_files, objects } from '#drizzle/tables/storage.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { postgresError } from '#src/database/problems.ts'
import { BucketNonTrovato, OggettoEsistente } from './errors.ts'
import type { Place, StoredFile } from './file-service.ts'

/** Compares names byte by byte, so that the order does not depend on the database's collation. */
const BYTEWISE = sql`${objects.name} collate "C"`
/** Truncated, because the columns would round up, and then the row would be due later. */
const NOW = sql`date_trunc('milliseconds', now())`
/** The highest Unicode code point, which no name uses. */
const MAX_CODE_POINT = 0x10ffff
/** Ids per statement. */
const BATCH = 1000

export async function findFile (executor: Executor, bucket: string, name: string): Promise<StoredFile | undefined> {
  const [row] = await executor.select().from(objects).where(named(bucket, name))
  return row
}

/** Files whose name starts with a prefix, ordered by name. */
export async function findFilesByPrefix (executor: Executor, bucket: string, prefix: string): Promise<StoredFile[]> {
  const pattern = `${prefix.replace(/[\\%_]/g, '\\$&')}%`
  return executor.select().from(objects)
    .where(and(eq(objects.bucket, bucket), sql`${BYTEWISE} like ${pattern}`))
    .orderBy(asc(BYTEWISE))
}

/**
 * Files whose name starts with one of many prefixes, passed as one parameter. The bounds allow an index scan: all names
 * with the prefix are between the prefix and the prefix with the highest code point.
 */
export async function findFilesByPrefixes (
  executor: Executor,
  bucket: string,
  prefixes: readonly string[]
): Promise<StoredFile[]> {
  const wanted = sql`jsonb_array_elements_text(${JSON.stringify(prefixes)}::jsonb) as wanted(prefix)`
  const found = await executor.select(getTableColumns(objects)).from(objects).innerJoin(wanted, and(
    eq(objects.bucket, bucket),
    sql`${BYTEWISE} >= wanted.prefix collate "C"`,
    sql`${BYTEWISE} < (wanted.prefix || chr(${MAX_CODE_POINT})) collate "C"`
  ))
  return [...new Map(found.map((row) => [row.id, row])).values()]
}

/** Files of a bucket after a name, ordered by name. */
export async function findFilesAfter (
  executor: Executor,
  bucket: string,
  after: string,
  limit: number
): Promise<StoredFile[]> {
  return executor.select().from(objects)
    .where(and(eq(objects.bucket, bucket), sql`${BYTEWISE} > ${after} collate "C"`))
    .orderBy(asc(BYTEWISE)).limit(limit)
}

/** Whether the file still exists, or another file has its name. */
export async function rowStatus (
  executor: Executor,
  { id, bucket, name }: Pick<StoredFile, 'id' | 'bucket' | 'name'>
): Promise<'same' | 'another' | 'none'> {
  const found = await findFile(executor, bucket, name)
  if (found?.id === id) return 'same'
  const [moved] = await executor.select({ id: objects.id }).from(objects).where(eq(objects.id, id))
  return moved ? 'same' : found ? 'another' : 'none'
}

/** The columns that a replacement takes from the new row. A trigger discards the file of the previous id. */
const REPLACED = {
  ...Object.fromEntries(['id', 'owner', 'content_type', 'size', 'cache_control', 'key_id', 'wrapped_key']
    .map((name) => [name, sql.raw(`excluded.${name}`)])),
  metadata: sql`coalesce(excluded.metadata, ${objects.metadata})`,
  updated_at: sql`now()`
}

/**
 * Inserts a file's row. With `replace`, a row with the same name gets the new content.
 * @throws OggettoEsistente when `replace` is false, BucketNonTrovato
 */
export async function insertFile (
  tx: Transaction,
  row: typeof objects.$inferInsert,
  replace: boolean
): Promise<StoredFile> {
  const insertion = tx.insert(objects).values({ object_id: row.id, ...row })
  const target = [objects.bucket, objects.name]
  const [stored] = await (replace
    ? insertion.onConflictDoUpdate({ target, set: REPLACED }).returning().prepare('object_replacement')
    : insertion.onConflictDoNothing({ target }).returning().prepare('object_insertion')
  ).execute().catch(refuseUnknownBucket)
  if (!stored) throw new OggettoEsistente()
  return stored
}

/** Locks a file until the transaction ends. Undefined if it no longer exists. */
export async function lockFile (tx: Transaction, id: string): Promise<StoredFile | undefined> {
  const [row] = await tx.select().from(objects).where(eq(objects.id, id)).for('update')
  return row
}

/** Deletes the row of a locked file, which the caller inserts again. */
export async function deleteRow (tx: Transaction, id: string): Promise<StoredFile> {
  const [row] = await tx.delete(objects).where(eq(objects.id, id)).returning()
  return row!
}

/**
 * Deletes the rows of files. A worker deletes the contents.
 * @returns bucket and name of the rows that still existed
 */
export async function discardFiles (tx: Transaction, ids: readonly string[]): Promise<Place[]> {
  const gone: Place[] = []
  for (let start = 0; start < ids.length; start += BATCH) {
    gone.push(...await discardWhere(tx, inArray(objects.id, ids.slice(start, start + BATCH))))
  }
  return gone
}

/** Schedules the deletion of a file that was written but not kept, unless a row refers to it. */
export async function discardUnreferenced (executor: Executor, id: string): Promise<void> {
  await executor.execute(sql`
    insert into ${discarded_files} (id, next_attempt_at)
    select ${id}::uuid, ${NOW} where not exists (select from ${objects} where ${objects.id} = ${id}::uuid)
    on conflict do nothing`)
}

async function discardWhere (tx: Transaction, which: SQL): Promise<Place[]> {
  // A restored row may refer to a file that is already scheduled for deletion.
  return tx.execute<Place & Record<string, unknown>>(sql`
    with gone as (delete from ${objects} where ${which} returning id, bucket, name),
      due as (insert into ${discarded_files} (id, next_attempt_at) select id, ${NOW} from gone on conflict do nothing)
    select bucket, name from gone`)
}

function named (bucket: string, name: string): SQL {
  return and(eq(objects.bucket, bucket), eq(objects.name, name))!
}

function refuseUnknownBucket (err: unknown): never {
  if (postgresError(err)?.constraint_name === 'objects_bucket_buckets_id_fk') throw new BucketNonTrovato()
  throw err
}
