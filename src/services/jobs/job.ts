interface AnyJob {
  name: string
  /** What it does, for people: Italian. */
  description: string
  /** A cron expression, Europe/Rome. */
  cron: string
  run (): Promise<void>
}

/** Each scheduled time is run by one of all processes on the database. */
interface SharedJob extends AnyJob { everyProcess?: false, atStart?: never }

/**
 * The work belongs to the process: each process runs it for itself. With `atStart` it is also run when the server
 * is ready.
 */
interface ProcessJob extends AnyJob { everyProcess: true, atStart?: boolean }

/** Recurring work. */
export type Job = SharedJob | ProcessJob

export type ScheduledJob = Job & {
  /** The first time of the schedule that is after an instant and after the present. */
  nextAfter (instant: Date): Date
}
