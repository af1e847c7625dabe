import { pgTable, text } from 'drizzle-orm/pg-core'
import { JOB_OUTCOMES } from '#schemas/job.ts'
import { instant } from './columns.ts'

/** Recurring work: when each job ran last, what became of it, and when it is due again. One row a job. */
export const jobs = pgTable('jobs', {
  name: text().primaryKey(),
  cron: text().notNull(),
  /** The next time by its schedule. A process takes a run by moving this on: no other process takes the same run. */
  next_run_at: instant().notNull(),
  /** Of the last run; `finished_at` is null while it runs. */
  started_at: instant(),
  finished_at: instant(),
  outcome: text({ enum: JOB_OUTCOMES }),
  /** The name or code of the error; never its words. */
  error: text(),
  /** The process that runs it, and until when that is believed: it renews this as long as it lives. */
  claimed_by: text(),
  lease_until: instant()
})
