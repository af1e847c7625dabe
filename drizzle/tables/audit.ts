import { sql } from 'drizzle-orm'
import { index, integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import { bytea, instantDate } from './columns.ts'

/**
 * What was done by whom, append-only: a trigger chains each row to the one before by its hash, another refuses every
 * change. It holds ids and fingerprints, never what a person is called.
 */
export const audit_log = pgTable('audit_log', {
  /** Counted by the trigger, so that the chain has no gap. */
  id: integer().primaryKey().default(0),
  at: instantDate().notNull().default(sql`clock_timestamp()`),
  /** The principal's id, `anonimo` or `sistema`. */
  actor: text().notNull(),
  /** A key of `AUDIT_ACTIONS` (`schemas/audit.ts`). */
  action: text().notNull(),
  /** What it was done to, e.g. `user:<id>`. */
  object: text(),
  ip: text(),
  details: jsonb().$type<Record<string, unknown>>().notNull().default({}),
  /** Computed by the trigger. */
  hash: bytea().notNull().default(sql`''`)
}, (t) => [
  index('audit_log_actor').on(t.actor, t.id),
  index('audit_log_action').on(t.action, t.id)
])
