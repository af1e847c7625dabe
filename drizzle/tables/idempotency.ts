import { index, integer, jsonb, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core'

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
