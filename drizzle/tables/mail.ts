import { sql } from 'drizzle-orm'
import { index, integer, pgTable, text } from 'drizzle-orm/pg-core'
import { MAIL_STATES } from '#schemas/mail.ts'
import { bytea, instantDate } from './columns.ts'

/** Queued and sent mails: inserted in the caller's transaction, delivered by a worker. */
export const mails = pgTable('mails', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  /** Set at insertion, so that a repeated delivery is recognized as the same mail. */
  message_id: text().notNull().unique(),
  /** Recipient, subject and body, encrypted. Null after delivery or final failure. */
  content: bytea(),
  stato: text({ enum: MAIL_STATES }).notNull().default('in_coda'),
  attempts: integer().notNull().default(0),
  next_attempt_at: instantDate().notNull().defaultNow(),
  /** The SMTP reply code, or the error's code, of the last attempt. */
  last_error: text(),
  /**
   * Codes of the server's last reply: the reply code of RFC 5321 and, if given, the enhanced status code of RFC 3463
   * (`550 5.1.1`). Never its text, which names recipients.
   */
  reply: text(),
  created_at: instantDate().notNull().defaultNow(),
  sent_at: instantDate()
}, (t) => [index('mails_in_coda').on(t.next_attempt_at).where(sql`${t.stato} = 'in_coda'`)])
