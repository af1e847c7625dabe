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

/** By cron expression: of all instants from `from` on and before `time`, that is the first time after them. */
const known = new Map<string, { from: Date, time: Date }>()

/**
 * The first time of a cron expression, Europe/Rome, that is after an instant and after the present. To look for it
 * takes 0.1 ms, and all jobs are asked for theirs every minute: so the last one found is remembered.
 */
export function nextTime (cron: string, task: ScheduledTask, instant: Date): Date {
  const from = new Date(Math.max(instant.getTime(), Date.now()))
  const last = known.get(cron)
  if (last && last.from <= from && from < last.time) return last.time
  // The instant may lie ahead of a clock that was set back since.
  for (let count = 2; ; count *= 2) {
    const time = task.getNextRuns(count).find((at) => at > from)
    if (time === undefined) continue
    known.set(cron, { from, time })
    return time
  }
}
