import type { FastifyBaseLogger } from 'fastify'
import { createTask, type ScheduledTask } from 'node-cron'

/**
 * A task that, once it is started, calls `tick` at the times of a cron expression, Europe/Rome, with each time.
 * @param tick never rejects
 */
export function tickTask (
  cron: string,
  log: FastifyBaseLogger,
  tick: (slot: Date) => Promise<void>,
  name?: string
): ScheduledTask {
  return createTask(cron, ({ date }) => tick(date), {
    name,
    timezone: 'Europe/Rome',
    // A process that was busy or asleep at a time ticks late; of several such times, for the last.
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
}

/** The first time of a task that is after an instant and after the present. */
export function nextTime (task: ScheduledTask, instant: Date): Date {
  // The instant may lie ahead of a clock that was set back since.
  for (let count = 2; ; count *= 2) {
    const next = task.getNextRuns(count).find((at) => at > instant)
    if (next) return next
  }
}
