import { pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { bytea, instantDate } from './columns.ts'

/** Sessions of the pages under `/ad/`, identified by a signed cookie. */
export const admin_sessions = pgTable('admin_sessions', {
  /** SHA-256 of the session id in the cookie. */
  id_hash: bytea().primaryKey(),
  /**
   * The principal of the session, and the user whose rights every page checks. `user_id` is null for the service key.
   */
  principal: text().notNull(),
  user_id: uuid(),
  created_at: instantDate().notNull().defaultNow(),
  last_seen_at: instantDate().notNull().defaultNow(),
  expires_at: instantDate().notNull()
})
