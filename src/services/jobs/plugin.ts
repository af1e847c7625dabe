import fp from 'fastify-plugin'
import type { ScheduledTask } from 'node-cron'
import type { Job } from './job.ts'
import { jobRunner, type JobRunner } from './runner.ts'
import { nextTime, tickTask } from './schedule.ts'

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

/** Between the times at which most jobs are run. */
const EVERY_MINUTE = '20 * * * * *'

/**
 * Recurring work. Each scheduled time of a job is run once across all processes, unless the job says that it belongs to
 * each process. What was missed, because no server or no database was there, is run at the start or within a minute.
 */
export default fp<JobsOptions>(async function jobs (app, { byClock = true }) {
  const { db, sql, log } = app
  const runner = jobRunner({ db, log, isTold: app.isToldOfDisk, closing: app.closing })
  const tasks: ScheduledTask[] = []

  function startByClock (task: ScheduledTask): ScheduledTask {
    tasks.push(task)
    if (byClock) void task.start()
    return task
  }

  app.decorate('addJob', function addJob (job) {
    const { name, cron, atStart } = job
    const task = startByClock(tickTask(cron, log, (slot) => runner.tick(name, slot), name))
    runner.add({ ...job, nextAfter: (instant) => nextTime(cron, task, instant) })
    // Not awaited: the server is ready before the work is done.
    if (atStart) app.addHook('onReady', async () => { void runner.tick(name, new Date()) })
  })
  app.decorate('jobs', { list: runner.list, start: runner.start })
  app.decorate('stopJobs', async () => {
    await Promise.all(tasks.map((task) => task.destroy()))
    await runner.stop()
  })

  const look = async () => {
    // So that the log says it, and says when there is room again, also while nobody asks.
    await app.isDiskFull(sql)
    await runner.catchUp()
  }
  startByClock(tickTask(EVERY_MINUTE, log, look))
  app.addHook('onReady', async () => { void look() })
  app.addHook('preClose', () => app.stopJobs())
}, { name: 'jobs', dependencies: ['closing', 'database', 'disk'] })
