import { pgTable, text } from 'drizzle-orm/pg-core'
import { JOB_OUTCOMES } from '#schemas/job.ts'
import { instantDate } from './columns.ts'

/** Recurring jobs, one row each: the last run, its outcome, and the next scheduled time. */
export const jobs = pgTable('jobs', {
  name: text().primaryKey(),
  cron: text().notNull(),
  /** The next scheduled time. A process claims a run by moving it, so that no other process gets the same run. */
  next_run_at: instantDate().notNull(),
  /** The last run. `finished_at` is null while it runs, or if its process was killed. */
  started_at: instantDate(),
  finished_at: instantDate(),
  outcome: text({ enum: JOB_OUTCOMES }),
  /** The error's name or code, never its message. */
  error: text(),
  /** The id of the current run and the end of its lease, which its process renews. */
  claimed_by: text(),
  lease_until: instantDate()
})
