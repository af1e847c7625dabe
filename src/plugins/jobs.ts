import { schedule, type ScheduledTask } from 'node-cron'
import fp from 'fastify-plugin'

export interface Job {
  name: string
  /** A cron expression, Europe/Rome. */
  cron: string
  /** Run it once when the server is ready, too. */
  atStart?: boolean
  run (): Promise<void>
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Runs a job at its times until the server closes; a failure is logged and the next time comes all the same. */
    addJob (job: Job): void
    /** Begins no further run, and waits for those under way. */
    stopJobs (): Promise<void>
  }
}

/** Recurring work. Jobs of several processes run side by side, so each must be harmless when done twice. */
export default fp(async function jobs (app) {
  const tasks: ScheduledTask[] = []
  const running = new Set<Promise<void>>()

  app.decorate('addJob', function addJob ({ name, cron, atStart, run }) {
    const once = async () => {
      const work = run().catch((err: unknown) => app.log.error({ err, job: name }, 'job failed'))
      running.add(work)
      await work
      running.delete(work)
    }
    tasks.push(schedule(cron, once, { name, timezone: 'Europe/Rome', noOverlap: true }))
    // Not awaited: the server is ready before the work is done.
    if (atStart) app.addHook('onReady', async () => { once().catch(() => {}) })
  })

  app.decorate('stopJobs', async () => {
    await Promise.all(tasks.map((task) => task.destroy()))
    await Promise.all(running)
  })
  app.addHook('preClose', () => app.stopJobs())
}, { name: 'jobs' })
