import { sql } from 'drizzle-orm'
import { index, integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import { bytea, instantDate } from './columns.ts'

/**
 * The audit log, append-only. One trigger chains each row to the one before by hash. Another
 * trigger rejects changes. The log stores ids and fingerprints, never names.
 */
export const audit_log = pgTable('audit_log', {
  /** Numbered by the trigger, so that the chain has no gap. */
  id: integer().primaryKey().default(0),
  at: instantDate().notNull().default(sql`clock_timestamp()`),
  /** The principal's id, `anonimo` or `sistema`. */
  actor: text().notNull(),
  /** A key of `AUDIT_ACTIONS` (`schemas/audit.ts`). */
  action: text().notNull(),
  /** The target of the action, e.g. `user:<id>`. */
  object: text(),
  ip: text(),
  details: jsonb().$type<Record<string, unknown>>().notNull().default({}),
  /** Computed by the trigger. */
  hash: bytea().notNull().default(sql`''`)
}, (t) => [
  index('audit_log_actor').on(t.actor, t.id),
  index('audit_log_action').on(t.action, t.id)
])
