import { pgTable, text } from 'drizzle-orm/pg-core'
import { JOB_OUTCOMES } from '#schemas/job.ts'
import { instantDate } from './columns.ts'

/** Recurring work: when each job ran last, what became of it, and when it is due again. One row a job. */
export const jobs = pgTable('jobs', {
  name: text().primaryKey(),
  cron: text().notNull(),
  /** The next time by its schedule. A process takes a run by moving this on: no other process takes the same run. */
  next_run_at: instantDate().notNull(),
  /** Of the last run; `finished_at` is null while it runs, and of a run whose process has died. */
  started_at: instantDate(),
  finished_at: instantDate(),
  outcome: text({ enum: JOB_OUTCOMES }),
  /** The name or code of the error; never its words. */
  error: text(),
  /** The run under way, and until when its process is believed to live: it renews this as long as it does. */
  claimed_by: text(),
  lease_until: instantDate()
})
