import { and, eq, inArray, isNull, lt, lte, or, sql } from 'drizzle-orm'
import { jobs as table } from '#drizzle/tables/jobs.ts'
import type { Database, Executor } from '#src/database/connect.ts'
import { LEASE } from '../queue/worker.ts'

/* Scheduled times come from the clocks of processes, all other times from the database's clock. */

/** A job's row. If it has a lease, the run is in progress or its process was killed. */
export type JobRow = typeof table.$inferSelect & {
  /** Whether the lease has expired and the end of the run is not recorded. */
  isLost: boolean
}

/** The end of a run. */
export interface End { outcome: 'riuscito' | 'fallito' | 'interrotto', error: string | null }

const IS_LOST = lt(table.lease_until, sql`now()`)
const IS_FREE = or(isNull(table.lease_until), IS_LOST)

/** Registers jobs. A known job keeps its next time, unless its schedule has changed. A missed run stays due. */
export async function registerJobs (
  db: Database,
  jobs: readonly Pick<JobRow, 'name' | 'cron' | 'next_run_at'>[]
): Promise<void> {
  // Sorted, because processes that start together could deadlock with different orders.
  const rows = [...jobs].sort((one, other) => (one.name < other.name ? -1 : 1))
  if (rows.length === 0) return
  await db.insert(table).values(rows).onConflictDoUpdate({
    target: table.name,
    set: {
      cron: sql`excluded.cron`,
      next_run_at: sql`
        case when ${table.next_run_at} <= now() then ${table.next_run_at} else excluded.next_run_at end`
    },
    setWhere: sql`${table.cron} <> excluded.cron`
  })
}

/** A job that is due and not running, or the interrupted run of a killed process. */
export type DueJob = Pick<JobRow, 'name' | 'next_run_at' | 'claimed_by'>

/** Finds the given jobs that are due or have a lost run. */
export async function findDue (db: Database, names: readonly string[], now: Date): Promise<DueJob[]> {
  return await db
    .select({ name: table.name, next_run_at: table.next_run_at, claimed_by: table.claimed_by })
    .from(table)
    .where(and(
      inArray(table.name, [...names]),
      or(IS_LOST, and(isNull(table.lease_until), lte(table.next_run_at, now)))
    ))
}

/**
 * Claims a scheduled or a lost run. The first process that changes the next time gets the run. Scheduled times are
 * compared with each other, not with clocks, so that differences between clocks do not matter.
 * @param run the id of the run
 * @param next the following scheduled time
 */
export async function takeDue (
  db: Database, { name, next_run_at, claimed_by }: DueJob, run: string, next: Date
): Promise<boolean> {
  const asSeen = sql`${table.claimed_by} is not distinct from ${claimed_by}`
  const taken = await db
    .update(table)
    .set({ ...startedRun(run), next_run_at: next })
    .where(and(eq(table.name, name), eq(table.next_run_at, next_run_at), asSeen, IS_FREE))
    .returning({ name: table.name })
  return taken.length > 0
}

/** Claims a run now, in the caller's transaction. Does not change the next scheduled time. */
export async function takeNow (executor: Executor, name: string, run: string): Promise<boolean> {
  const taken = await executor
    .update(table)
    .set(startedRun(run))
    .where(and(eq(table.name, name), IS_FREE))
    .returning({ name: table.name })
  return taken.length > 0
}

/** @returns false if the lease had expired, because another process may have started the run again */
export async function renewLease (db: Database, name: string, run: string): Promise<boolean> {
  const renewed = await db
    .update(table)
    .set({ lease_until: LEASE })
    .where(isOf(name, run))
    .returning({ name: table.name })
  return renewed.length > 0
}

/** Records the end of a run. An interrupted run is due again. */
export async function recordEnd (db: Database, name: string, run: string, end: End): Promise<void> {
  const due = end.outcome === 'interrotto' && { next_run_at: sql`least(${table.next_run_at}, ${table.started_at})` }
  await db
    .update(table)
    .set({ ...end, ...due, finished_at: sql`now()`, claimed_by: null, lease_until: null })
    .where(isOf(name, run))
}

/** Records a run of a job that every process runs. Such runs are not claimed. */
export async function recordRun (
  db: Database,
  name: string,
  next: Date,
  { durationMs, ...end }: End & { durationMs: number }
): Promise<void> {
  const started = sql`now() - make_interval(secs => ${durationMs / 1000}::float8)`
  await db
    .update(table)
    .set({ ...end, started_at: started, finished_at: sql`now()`, next_run_at: next })
    .where(eq(table.name, name))
}

export async function findJobs (db: Database): Promise<JobRow[]> {
  const rows = await db.select({ job: table, isLost: sql<boolean>`coalesce(${IS_LOST}, false)` }).from(table)
  return rows.map(({ job, isLost }) => ({ ...job, isLost }))
}

function startedRun (run: string) {
  return {
    started_at: sql`now()`,
    finished_at: null,
    outcome: null,
    error: null,
    claimed_by: run,
    lease_until: LEASE
  }
}

function isOf (name: string, run: string) {
  return and(eq(table.name, name), eq(table.claimed_by, run))
}
