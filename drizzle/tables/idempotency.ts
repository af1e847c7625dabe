import { sql } from 'drizzle-orm'
import { boolean, index, integer, jsonb, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core'

/** Answers kept for 24 hours under the caller's `Idempotency-Key`. `status` is null while the first request runs. */
export const idempotency_keys = pgTable('idempotency_keys', {
  principal: text().notNull(),
  key: text().notNull(),
  fingerprint: text().notNull(),
  status: integer(),
  body: text(),
  /** Headers that belong to the answer: `etag`, `location`. */
  headers: jsonb().$type<Record<string, string>>(),
  /** What the request has begun, and the caller can ask for until the answer is known. */
  reference: text(),
  created_at: timestamp({ withTimezone: true, mode: 'string' }).notNull().defaultNow()
}, (t) => [
  primaryKey({ columns: [t.principal, t.key] }),
  index('idempotency_keys_created_at').on(t.created_at)
])

/**
 * Of which things that are gone no answer is kept, also where its request was still under way when they went: the work
 * may be committed, and its answer not yet stored.
 */
export const forgotten_answers = pgTable('forgotten_answers', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  locations: text().array().notNull(),
  /** A regular expression whose group finds the name of a thing in an answer. */
  said: text(),
  names: text().array().notNull(),
  /** Another thing may have the name later. */
  reusable: boolean().notNull(),
  /** Not the transaction's time, which is before it waited for others. */
  forgotten_at: timestamp({ withTimezone: true, mode: 'string' }).notNull().default(sql`clock_timestamp()`)
})
