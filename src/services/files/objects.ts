import { and, asc, eq, getTableColumns, inArray, sql, type SQL } from 'drizzle-orm'
import { discarded_files, objects } from '#drizzle/tables/storage.ts'
import { ServizioOccupato } from '#src/lib/errors.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { postgresError } from '#src/database/problems.ts'
import { BucketNonTrovato, OggettoEsistente } from './errors.ts'
import type { Place, StoredObject } from './storage.ts'

/** Names are compared bytewise, whatever the collation of the database. */
const BYTEWISE = sql`${objects.name} collate "C"`
/** Cut off, not rounded up as the columns would: due at once. */
const NOW = sql`date_trunc('milliseconds', now())`
/** How often in a row another transaction may take a name that was free a moment ago. */
const ATTEMPTS = 10
/** Of Unicode's characters, which nobody uses in a name. */
const HIGHEST = 0x10ffff
/** Ids in one statement. */
const BATCH = 1000

export async function findObject (executor: Executor, bucket: string, name: string): Promise<StoredObject | undefined> {
  const [row] = await executor.select().from(objects).where(named(bucket, name))
  return row
}

/** Objects whose name begins so, by name. */
export async function findObjects (executor: Executor, bucket: string, prefix: string): Promise<StoredObject[]> {
  const pattern = `${prefix.replace(/[\\%_]/g, '\\$&')}%`
  return executor.select().from(objects)
    .where(and(eq(objects.bucket, bucket), sql`${BYTEWISE} like ${pattern}`))
    .orderBy(asc(BYTEWISE))
}

/**
 * Objects whose name begins with one of many prefixes, which are one parameter. The bounds lead to the index: every
 * name with the prefix comes before the prefix with the highest character there is.
 */
export async function findObjectsOfMany (
  executor: Executor,
  bucket: string,
  prefixes: readonly string[]
): Promise<StoredObject[]> {
  const wanted = sql`jsonb_array_elements_text(${JSON.stringify(prefixes)}::jsonb) as wanted(prefix)`
  const found = await executor.select(getTableColumns(objects)).from(objects).innerJoin(wanted, and(
    eq(objects.bucket, bucket),
    sql`${BYTEWISE} >= wanted.prefix collate "C"`,
    sql`${BYTEWISE} < (wanted.prefix || chr(${HIGHEST})) collate "C"`
  ))
  return [...new Map(found.map((row) => [row.id, row])).values()]
}

/** Objects of a bucket after a name, by name. */
export async function findObjectsAfter (
  executor: Executor,
  bucket: string,
  after: string,
  limit: number
): Promise<StoredObject[]> {
  return executor.select().from(objects)
    .where(and(eq(objects.bucket, bucket), sql`${BYTEWISE} > ${after} collate "C"`))
    .orderBy(asc(BYTEWISE)).limit(limit)
}

/** Whether the object is still there, or at least another one of its name. */
export async function whatIsLeft (
  executor: Executor,
  { id, bucket, name }: Pick<StoredObject, 'id' | 'bucket' | 'name'>
): Promise<'same' | 'another' | 'none'> {
  const found = await findObject(executor, bucket, name)
  if (found?.id === id) return 'same'
  const [moved] = await executor.select({ id: objects.id }).from(objects).where(eq(objects.id, id))
  return moved ? 'same' : found ? 'another' : 'none'
}

/**
 * Gives a file its row; what had the name before is discarded.
 * @throws OggettoEsistente where it must not replace; BucketNonTrovato
 */
export async function insertObject (
  tx: Transaction,
  row: typeof objects.$inferInsert,
  replace: boolean
): Promise<StoredObject> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const [inserted] = await tx.insert(objects).values(row)
      .onConflictDoNothing({ target: [objects.bucket, objects.name] }).returning()
      .prepare('object_insertion').execute().catch(refuseUnknownBucket)
    if (inserted) return inserted
    if (!replace) throw new OggettoEsistente()
    await discardWhere(tx, named(row.bucket, row.name))
  }
  throw new ServizioOccupato()
}

/** An object, kept from being moved or discarded until the transaction ends; undefined: it is gone. */
export async function lockObject (tx: Transaction, id: string): Promise<StoredObject | undefined> {
  const [row] = await tx.select().from(objects).where(eq(objects.id, id)).for('update')
  return row
}

/** Takes the row of an object that is locked away, to be written anew. */
export async function takeObject (tx: Transaction, id: string): Promise<StoredObject> {
  const [row] = await tx.delete(objects).where(eq(objects.id, id)).returning()
  return row!
}

/**
 * Forgets objects; a worker removes their files.
 * @returns where those were that were still there
 */
export async function discardObjects (tx: Transaction, ids: readonly string[]): Promise<Place[]> {
  const gone: Place[] = []
  for (let start = 0; start < ids.length; start += BATCH) {
    gone.push(...await discardWhere(tx, inArray(objects.id, ids.slice(start, start + BATCH))))
  }
  return gone
}

/** A written file that was not kept: a worker removes it, unless a row names it. */
export async function discardUnkept (executor: Executor, id: string): Promise<void> {
  await executor.execute(sql`
    insert into ${discarded_files} (id, next_attempt_at)
    select ${id}::uuid, ${NOW} where not exists (select from ${objects} where ${objects.id} = ${id}::uuid)
    on conflict do nothing`)
}

async function discardWhere (tx: Transaction, which: SQL): Promise<Place[]> {
  // A restored row may name a file that is to be removed already.
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
