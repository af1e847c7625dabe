import { eq, getTableColumns, sql as statement } from 'drizzle-orm'
import { pino } from 'pino'
import type { Test } from 'tap'
import { jobs } from '#drizzle/tables/jobs.ts'
import { connect } from '#src/database/connect.ts'
import { type Job, jobRunner, type JobRunner, type RunnerOptions } from '#src/services/jobs/runner.ts'
import { testDatabase } from '#test/database.ts'

/** A nightly job that counts its runs. */
interface Process extends JobRunner {
  /** Number of runs by this process. */
  runs (): number
  logs: Record<string, unknown>[]
}

type Night = Partial<Pick<Job, 'cron' | 'run' | 'everyProcess'>> &
  Pick<RunnerOptions, 'isReported' | 'renewEveryMs' | 'shutdownSignal'>

const hasLease = statement<boolean>`coalesce(${jobs.lease_until} > now(), false)`

/** Job runners on one test database, each with its own connections, like separate processes. */
export async function processes (t: Test) {
  const { url, sql, db } = await testDatabase(t)

  function start ({ cron = '0 3 * * *', run = async () => {}, everyProcess, ...options }: Night = {}): Process {
    const { db: own, close } = connect(url, 2)
    const logs: Record<string, unknown>[] = []
    const log = pino({}, { write: (line: string) => { logs.push(JSON.parse(line) as Record<string, unknown>) } })
    const runner = jobRunner({ db: own, log, ...options })
    let runs = 0
    const work = () => {
      runs++
      return run()
    }
    runner.add({ name: 'night', description: 'Prova', cron, run: work, ...everyProcess && { everyProcess } })
    t.teardown(async () => {
      await runner.stop()
      await close()
    })
    return { ...runner, runs: () => runs, logs }
  }

  return {
    sql,
    start,
    /** The job's row. */
    async row () {
      const [row] = await db
        .select({ ...getTableColumns(jobs), hasLease })
        .from(jobs)
        .where(eq(jobs.name, 'night'))
      return row!
    },
    /** Changes the last scheduled time into a missed one. */
    async miss () {
      await sql`update jobs set next_run_at = now() - interval '5 hours' where name = 'night'`
    },
    /** Expires the lease, as when the process of the run was killed. */
    async loseLease () {
      await sql`update jobs set lease_until = now() - interval '1 second' where name = 'night'`
    }
  }
}

/** Work that continues until the test ends it. `begun` resolves when it has started. */
export function heldWork () {
  const begun = Promise.withResolvers<void>()
  const over = Promise.withResolvers<void>()
  return {
    run: async () => {
      begun.resolve()
      await over.promise
    },
    begun: begun.promise,
    end: () => over.resolve(),
    fail: (err: Error) => over.reject(err)
  }
}
