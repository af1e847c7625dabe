import { randomBytes } from 'node:crypto'
import { and, asc, desc, eq, gt, lt } from 'drizzle-orm'
import { objects, storage_keys } from '#drizzle/tables/storage.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Connection, Database } from '#src/database/connect.ts'
import { LOCKS } from '#src/database/locks.ts'
import { postgresError } from '#src/database/problems.ts'
import { generations, unwrap, wrap, WrongKeyError } from './key-wrapping.ts'
import type { StoredFile } from './file-service.ts'

const BATCH = 200
const SALT_BYTES = 32
/** Number of files that are tested for the right master key. */
const SAMPLE = 20
const FOREIGN_KEY = '23503'

/** Another process is rotating the keys. */
export class RotationUnderWayError extends Error {}

/** The master key unwraps the key of none of the sampled files. */
export class ForeignMasterKeyError extends Error {}

export interface Rotation {
  /** Number of files whose keys were wrapped again. */
  rewrapped: number
  /** Whether the run completed an interrupted rotation. */
  resumed: boolean
  /** Files whose key cannot be unwrapped. The generations of these keys are kept. */
  damaged: string[]
}

/**
 * Wraps the keys of all files with a new generation of the wrapping key, and deletes earlier generations unless a key
 * is damaged. If it is killed, the next run resumes. Servers may run meanwhile.
 * @param connection a single session, because it takes an advisory lock
 * @throws RotationUnderWayError
 * @throws ForeignMasterKeyError before anything is written
 */
export async function rotateKeys (
  { db, sql }: Pick<Connection, 'db' | 'sql'>,
  keys: Pick<Keys, 'derive'>
): Promise<Rotation> {
  const [{ mine }] = await sql<[{ mine: boolean }]>`select pg_try_advisory_lock(${LOCKS.storageKeys}) as mine`
  if (!mine) throw new RotationUnderWayError()
  const found = await db.select({ id: storage_keys.id }).from(storage_keys).orderBy(desc(storage_keys.id))
  if (await isForeign(db, keys)) throw new ForeignMasterKeyError()
  // After a completed rotation only damaged files have an earlier generation. Then no rotation has to be resumed.
  const rotation = found.length > 1 ? await rewrapAll(db, keys, found[0]!.id) : undefined
  const resumed = rotation !== undefined && rotation.rewrapped > 0
  const newest = resumed ? found[0]!.id : await addGeneration(db)
  for (let rewrapped = rotation?.rewrapped ?? 0; ;) {
    const pass = await rewrapAll(db, keys, newest)
    rewrapped += pass.rewrapped
    // If a server has just kept an upload with an earlier generation, another pass is needed.
    if (pass.damaged.length > 0 || await removeEarlier(db, newest)) return { rewrapped, resumed, damaged: pass.damaged }
  }
}

/** Whether the keys of all tested files fail to unwrap. A single damaged file does not prove another master key. */
async function isForeign (db: Database, keys: Pick<Keys, 'derive'>): Promise<boolean> {
  const known = generations(keys)
  const rows = await db.select().from(objects).orderBy(asc(objects.id)).limit(SAMPLE)
  for (const row of rows) if (unwrapped(row, (await known.find(db, row.key_id))!.key)) return false
  return rows.length > 1
}

async function addGeneration (db: Database): Promise<number> {
  const [row] = await db.insert(storage_keys).values({ salt: randomBytes(SALT_BYTES) }).returning()
  return row!.id
}

async function rewrapAll (db: Database, keys: Pick<Keys, 'derive'>, newest: number) {
  const known = generations(keys)
  const damaged: string[] = []
  let rewrapped = 0
  for (let after: string | undefined; ;) {
    const rows = await db.transaction(async (tx) => {
      const next = (await known.find(tx, newest))!
      const rows = await tx.select().from(objects)
        .where(and(lt(objects.key_id, newest), after === undefined ? undefined : gt(objects.id, after)))
        .orderBy(asc(objects.id)).limit(BATCH).for('update')
      for (const row of rows) {
        const key = unwrapped(row, (await known.find(tx, row.key_id))!.key)
        if (!key) {
          damaged.push(row.id)
          continue
        }
        const wrapped_key = wrap(key, next.key, row)
        await tx.update(objects).set({ key_id: newest, wrapped_key }).where(eq(objects.id, row.id))
      }
      return rows
    })
    if (rows.length === 0) return { rewrapped: rewrapped - damaged.length, damaged }
    rewrapped += rows.length
    after = rows.at(-1)!.id
  }
}

function unwrapped (row: StoredFile, wrapping: Buffer): Buffer | undefined {
  try {
    return unwrap(row.wrapped_key, wrapping, row)
  } catch (err) {
    if (err instanceof WrongKeyError) return undefined
    throw err
  }
}

/** False if a file still uses an earlier generation. */
async function removeEarlier (db: Database, newest: number): Promise<boolean> {
  try {
    await db.delete(storage_keys).where(lt(storage_keys.id, newest))
    return true
  } catch (err) {
    if (postgresError(err)?.code === FOREIGN_KEY) return false
    throw err
  }
}
