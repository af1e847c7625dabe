import { index, integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import { bytea, instantDate } from './columns.ts'

/**
 * What was done by whom, append-only: each row is chained to the one before by a keyed hash, and a trigger refuses
 * every change. It holds ids and fingerprints, never what a person is called.
 */
export const audit_log = pgTable('audit_log', {
  /** Counted by the writer, so that the chain has no gap. */
  id: integer().primaryKey(),
  at: instantDate().notNull(),
  /** The principal's id, `anonimo` or `sistema`. */
  actor: text().notNull(),
  /** A key of `AUDIT_ACTIONS` (`schemas/audit.ts`). */
  action: text().notNull(),
  /** What it was done to, e.g. `user:<id>`. */
  object: text(),
  ip: text(),
  details: jsonb().$type<Record<string, unknown>>().notNull().default({}),
  hash: bytea().notNull()
}, (t) => [
  index('audit_log_actor').on(t.actor, t.id),
  index('audit_log_action').on(t.action, t.id)
])
