import { index, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { bytea, instantDate } from './columns.ts'

/** Counts attempts in a time window: guesses of secrets, and mails. A row expires at `ends_at`. */
export const counters = pgTable('counters', {
  /** The name of the limit. */
  name: text().notNull(),
  /** Keyed fingerprint of the caller or account. Never an address. */
  subject: bytea().notNull(),
  count: integer().notNull(),
  ends_at: instantDate().notNull()
}, (t) => [
  primaryKey({ columns: [t.name, t.subject] }),
  index('counters_ends_at').on(t.ends_at)
])
