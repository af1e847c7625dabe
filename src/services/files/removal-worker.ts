import { asc, eq, inArray, lte, sql } from 'drizzle-orm'
import type { FastifyBaseLogger } from 'fastify'
import { discarded_files } from '#drizzle/tables/storage.ts'
import type { Database, Executor } from '#src/database/connect.ts'
import { LOCKS } from '#src/database/locks.ts'
import { LEASE, nextAttempt, queueWorker, type QueueWorker } from '../queue/worker.ts'
import type { Backend } from './backends/backend.ts'
import type { BackendMarker } from './backend-marker.ts'

const BATCH = 50
/** After this many failures the worker pauses, because the file backend may be down. */
const FAULTS_MAX = 3

interface WorkerOptions { db: Database, backend: Backend, marker: BackendMarker, log: FastifyBaseLogger }

/** Deletes discarded files in batches. The tombstone is deleted last. A second deletion of a file is not an error. */
export function removalWorker ({ db, backend, marker, log }: WorkerOptions): QueueWorker {
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
        // A failed file does not block the others.
        log.error({ err, file: each.id }, 'a discarded file could not be removed')
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
      // Check before the claim. If this process cannot reach the files, another one may.
      await marker.require()
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

/** Claims no files while a backup runs, because its snapshot may be older than the discards. The files stay due. */
async function claim (db: Database): Promise<Claimed[]> {
  return db.transaction(async (tx) => {
    const due = await tx.select({ id: discarded_files.id }).from(discarded_files)
      .where(lte(discarded_files.next_attempt_at, sql`now()`))
      .orderBy(asc(discarded_files.next_attempt_at)).limit(BATCH).for('update', { skipLocked: true })
    // Check after the rows were read, because a backup that starts now does not contain these files any more.
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

/** Files that were not tried become due again. */
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
