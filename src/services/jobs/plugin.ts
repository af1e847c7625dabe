import { createTask } from 'node-cron'
import fp from 'fastify-plugin'
import { type Job, jobRunner, type JobRunner } from './runner.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Runs a job at its times until the server closes; a failure is logged and the next time comes all the same. */
    addJob (job: Job): void
    /** The jobs of this server, as administrators see and start them. */
    jobs: Pick<JobRunner, 'list' | 'start'>
    /** Begins no further run, and waits for those under way. */
    stopJobs (): Promise<void>
  }
}

interface JobsOptions {
  /** False when jobs are run at the start and by hand alone. */
  byClock?: boolean | undefined
}

/** Between looks for jobs whose time has come: the times of all jobs are among these. */
const LOOK = '*/30 * * * * *'

/**
 * Recurring work. Each scheduled time of a job is run once across all processes, unless the job says that it belongs to
 * each process. What was missed, because no server or no database was there, is run at the start or with the next look.
 */
export default fp<JobsOptions>(async function jobs (app, { byClock = true }) {
  const { db, sql, log } = app
  const runner = jobRunner({ db, log, isTold: app.isToldOfDisk, closing: app.closing })
  const look = async (now?: Date) => {
    // So that the log says it, and says when there is room again, also while nobody asks.
    await app.isDiskFull(sql)
    await runner.runDue(now)
  }
  const clock = createTask(LOOK, ({ date }) => look(date), {
    timezone: 'Europe/Rome',
    // A process that was busy or asleep at a time looks late; of several such times, for the last.
    missedExecutionTolerance: Infinity,
    suppressMissedWarning: true,
    // In place of the console.
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
    // Not awaited: the server is ready before the work is done.
    void look()
  })
  app.addHook('preClose', () => app.stopJobs())
}, { name: 'jobs', dependencies: ['shutdown', 'database', 'disk'] })
