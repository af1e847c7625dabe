import { pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { bytea, instantDate } from './columns.ts'

/** Who may see the pages under `/ad/`: what the signed cookie stands for. */
export const admin_sessions = pgTable('admin_sessions', {
  /** SHA-256 of the id in the cookie. */
  id_hash: bytea().primaryKey(),
  /**
   * The principal it was granted to, and the user whose rights are asked for at every page; null for the service key.
   */
  principal: text().notNull(),
  user_id: uuid(),
  created_at: instantDate().notNull().defaultNow(),
  last_seen_at: instantDate().notNull().defaultNow(),
  expires_at: instantDate().notNull()
})
