import { createTask } from 'node-cron'
import fp from 'fastify-plugin'
import { type Job, jobRunner, type JobRunner } from './runner.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Runs a job on its schedule until shutdown. A failure is logged and does not stop later runs. */
    addJob (job: Job): void
    /** The jobs of this server. Administrators list and start them. */
    jobs: Pick<JobRunner, 'list' | 'start'>
    /** Starts no further runs, and waits for the running ones. */
    stopJobs (): Promise<void>
  }
}

interface JobsOptions {
  /** If false, jobs run only at the start and by hand. */
  byClock?: boolean | undefined
}

/** Interval between two checks for due jobs. All schedules are multiples of it. */
const CHECKS = '*/30 * * * * *'

/**
 * Recurring jobs. Each scheduled run happens once across all processes, unless the job belongs to every process. A run
 * that was missed because no server or database was available happens at the next start or check.
 */
export default fp<JobsOptions>(async function jobs (app, { byClock = true }) {
  const { db, sql, log } = app
  const runner = jobRunner({ db, log, isReported: app.isDiskFullReported, shutdownSignal: app.shutdownSignal })
  const check = async (now?: Date) => {
    // Check here, so that the log reports a full disk and its recovery even without requests.
    await app.isDiskFull(sql)
    await runner.runDue(now)
  }
  const clock = createTask(CHECKS, ({ date }) => check(date), {
    timezone: 'Europe/Rome',
    // A process that was busy or paused checks late, and only once for several missed times.
    missedExecutionTolerance: Infinity,
    suppressMissedWarning: true,
    // Replaces the console as logger.
    logger: {
      debug () {},
      info () {},
      warn: (reason) => log.warn({ reason }, 'scheduler'),
      error: (err) => log.error({ err }, 'scheduler')
    }
  })

  app.decorate('addJob', (job) => runner.add(job))
  app.decorate('jobs', { list: runner.list, start: runner.start })
  app.decorate('stopJobs', async () => {
    await clock.destroy()
    await runner.stop()
  })
  app.addHook('onReady', async () => {
    if (byClock) void clock.start()
    // Not awaited, because the server is ready before the jobs have run.
    void check()
  })
  app.addHook('preClose', () => app.stopJobs())
}, { name: 'jobs', dependencies: ['shutdown', 'database', 'disk'] })
