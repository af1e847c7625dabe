import { index, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { bytea, instantDate } from './columns.ts'

/** How often something was tried since a window began: guesses of secrets, mails. A row is void after `ends_at`. */
export const counters = pgTable('counters', {
  /** The limit that it counts for. */
  name: text().notNull(),
  /** Whose tries: a keyed fingerprint, never an address. */
  subject: bytea().notNull(),
  count: integer().notNull(),
  ends_at: instantDate().notNull()
}, (t) => [
  primaryKey({ columns: [t.name, t.subject] }),
  index('counters_ends_at').on(t.ends_at)
])
