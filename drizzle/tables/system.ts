import { sql } from 'drizzle-orm'
import { index, integer, jsonb, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core'
import { bytea } from './columns.ts'

/** Answers kept for 24 hours under the caller's `Idempotency-Key`. `status` is null while the first request runs. */
export const idempotency_keys = pgTable('idempotency_keys', {
  principal: text().notNull(),
  key: text().notNull(),
  fingerprint: text().notNull(),
  status: integer(),
  body: text(),
  created_at: timestamp({ withTimezone: true, mode: 'string' }).notNull().defaultNow()
}, (t) => [
  primaryKey({ columns: [t.principal, t.key] }),
  index('idempotency_keys_created_at').on(t.created_at)
])

/**
 * What was done by whom, append-only: each row is chained to the one before by a keyed hash, and a trigger refuses
 * every change. It holds ids and fingerprints, never what a person is called.
 */
export const audit_log = pgTable('audit_log', {
  /** Counted by the writer, so that the chain has no gap. */
  id: integer().primaryKey(),
  at: timestamp({ withTimezone: true, precision: 3, mode: 'date' }).notNull(),
  /** The principal's id, `anonimo` or `sistema`. */
  actor: text().notNull(),
  /** See `src/plugins/audit/actions.ts`. */
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

/** Mails to be sent, and those that were: written in the transaction that wants them, delivered by a worker. */
export const mails = pgTable('mails', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  /** Fixed when it is written, so that a second delivery is recognised as the same mail. */
  message_id: text().notNull().unique(),
  /** Recipient, subject and body, sealed; null once delivered or given up. */
  content: bytea(),
  /** in_coda · inviata · fallita */
  stato: text().notNull().default('in_coda'),
  attempts: integer().notNull().default(0),
  next_attempt_at: timestamp({ withTimezone: true, precision: 3, mode: 'date' }).notNull().defaultNow(),
  /** The SMTP reply code, or the error's code, of the last attempt. */
  last_error: text(),
  created_at: timestamp({ withTimezone: true, precision: 3, mode: 'date' }).notNull().defaultNow(),
  sent_at: timestamp({ withTimezone: true, precision: 3, mode: 'date' })
}, (t) => [index('mails_in_coda').on(t.next_attempt_at).where(sql`${t.stato} = 'in_coda'`)])
