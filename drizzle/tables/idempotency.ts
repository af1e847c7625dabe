import { index, integer, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core'

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
