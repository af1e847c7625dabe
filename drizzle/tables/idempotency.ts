import { sql } from 'drizzle-orm'
import { boolean, index, integer, jsonb, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core'

/** Responses kept for 24 hours by `Idempotency-Key`. `status` is null while the first request runs. */
export const idempotency_keys = pgTable('idempotency_keys', {
  principal: text().notNull(),
  key: text().notNull(),
  fingerprint: text().notNull(),
  status: integer(),
  body: text(),
  /** Stored response headers: `etag`, `location`. */
  headers: jsonb().$type<Record<string, string>>(),
  /** References of started work, from which a repeated request is answered until the response is known. */
  reference: text(),
  created_at: timestamp({ withTimezone: true, mode: 'string' }).notNull().defaultNow()
}, (t) => [
  primaryKey({ columns: [t.principal, t.key] }),
  index('idempotency_keys_created_at').on(t.created_at)
])

/**
 * Deleted resources. Responses about them must not stay stored. A request in progress may commit its work before the
 * deletion, and store its response afterwards.
 */
export const forgotten_answers = pgTable('forgotten_answers', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  locations: text().array().notNull(),
  /** A regular expression whose group captures a resource's name in a response. */
  said: text(),
  names: text().array().notNull(),
  /** Another resource may reuse the name. */
  reusable: boolean().notNull(),
  /** The current time. The transaction's start would be too early, because it precedes the waits for locks. */
  forgotten_at: timestamp({ withTimezone: true, mode: 'string' }).notNull().default(sql`clock_timestamp()`)
})
