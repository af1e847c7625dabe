import { asc, eq, inArray, lte, sql } from 'drizzle-orm'
import type { FastifyBaseLogger } from 'fastify'
import { discarded_files } from '#drizzle/tables/storage.ts'
import type { Database, Executor } from '#src/database/connect.ts'
import { LOCKS } from '#src/database/locks.ts'
import { LEASE, nextAttempt, queueWorker, type QueueWorker } from '../queue/worker.ts'
import type { Backend } from './backends/backend.ts'
import type { Store } from './store.ts'

const BATCH = 50
/** After so many failures the work ends until the next time: the place of the files may be away. */
const FAULTS_MAX = 3

interface WorkerOptions { db: Database, backend: Backend, store: Store, log: FastifyBaseLogger }

/**
 * Removes the files that no row names any more, in batches. A file is forgotten when it is gone: to remove it twice is
 * no error.
 */
export function removalWorker ({ db, backend, store, log }: WorkerOptions): QueueWorker {
  async function remove (batch: readonly Claimed[]): Promise<boolean> {
    const gone: string[] = []
    const failed: Claimed[] = []
    const untried: Claimed[] = []
    for (const each of batch) {
      if (failed.length === FAULTS_MAX) {
        untried.push(each)
        continue
      }
      try {
        await backend.delete(each.id)
        gone.push(each.id)
      } catch (err) {
        // One file that cannot be removed does not keep the others.
        log.error({ err, object: each.id }, 'a discarded file could not be removed')
        failed.push(each)
      }
    }
    await forget(db, gone)
    await postpone(db, failed)
    await giveBack(db, untried)
    return failed.length < FAULTS_MAX
  }

  return queueWorker<Claimed[]>({
    async claim () {
      if (!await isAnyDue(db)) return undefined
      // Before anything is claimed: another process may have the files that this one has not.
      await store.require()
      const batch = await claim(db)
      return batch.length > 0 ? batch : undefined
    },
    carryOut: remove,
    onError: (err) => log.error({ err }, 'discarded files could not be removed')
  })
}

interface Claimed { id: string, attempts: number }

async function isAnyDue (db: Database): Promise<boolean> {
  const due = await db.select({ id: discarded_files.id }).from(discarded_files)
    .where(lte(discarded_files.next_attempt_at, sql`now()`)).limit(1)
  return due.length > 0
}

/** Nothing while a backup is under way: its snapshot may be of before these were discarded. They stay due. */
async function claim (db: Database): Promise<Claimed[]> {
  return db.transaction(async (tx) => {
    const due = await tx.select({ id: discarded_files.id }).from(discarded_files)
      .where(lte(discarded_files.next_attempt_at, sql`now()`))
      .orderBy(asc(discarded_files.next_attempt_at)).limit(BATCH).for('update', { skipLocked: true })
    // After the look at the rows: a backup that begins from here on does not see these files any more.
    if (due.length === 0 || await isBackupUnderWay(tx)) return []
    return tx.update(discarded_files)
      .set({ attempts: sql`${discarded_files.attempts} + 1`, next_attempt_at: LEASE })
      .where(inArray(discarded_files.id, due.map(({ id }) => id)))
      .returning({ id: discarded_files.id, attempts: discarded_files.attempts })
  })
}

async function isBackupUnderWay (tx: Executor): Promise<boolean> {
  const [row] = await tx.execute<{ free: boolean }>(sql`
    select pg_try_advisory_xact_lock_shared(${LOCKS.backup}) as free`)
  return !row!.free
}

async function forget (db: Database, ids: string[]): Promise<void> {
  if (ids.length > 0) await db.delete(discarded_files).where(inArray(discarded_files.id, ids))
}

/** Those that were not tried stay due. */
async function giveBack (db: Database, claimed: Claimed[]): Promise<void> {
  if (claimed.length === 0) return
  await db.update(discarded_files)
    .set({ attempts: sql`${discarded_files.attempts} - 1`, next_attempt_at: sql`now()` })
    .where(inArray(discarded_files.id, claimed.map(({ id }) => id)))
}

async function postpone (db: Database, claimed: Claimed[]): Promise<void> {
  for (const { id, attempts } of claimed) {
    await db.update(discarded_files).set({ next_attempt_at: nextAttempt(attempts) }).where(eq(discarded_files.id, id))
  }
}
