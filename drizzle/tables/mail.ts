import { sql } from 'drizzle-orm'
import { index, integer, pgTable, text } from 'drizzle-orm/pg-core'
import { MAIL_STATES } from '#schemas/mail.ts'
import { bytea, instantDate } from './columns.ts'

/** Mails to be sent, and those that were: written in the transaction that wants them, delivered by a worker. */
export const mails = pgTable('mails', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  /** Fixed when it is written, so that a second delivery is recognised as the same mail. */
  message_id: text().notNull().unique(),
  /** Recipient, subject and body, sealed; null once delivered or given up. */
  content: bytea(),
  stato: text({ enum: MAIL_STATES }).notNull().default('in_coda'),
  attempts: integer().notNull().default(0),
  next_attempt_at: instantDate().notNull().defaultNow(),
  /** The SMTP reply code, or the error's code, of the last attempt. */
  last_error: text(),
  /**
   * What the server replied at the last attempt: the reply code of RFC 5321 and, where it gave one, the enhanced status
   * code of RFC 3463 (`550 5.1.1`). Never its words, in which recipients are named.
   */
  reply: text(),
  created_at: instantDate().notNull().defaultNow(),
  sent_at: instantDate()
}, (t) => [index('mails_in_coda').on(t.next_attempt_at).where(sql`${t.stato} = 'in_coda'`)])
