import { randomUUID } from 'node:crypto'
import { and, asc, count, eq, lt, lte, sql } from 'drizzle-orm'
import { mails } from '#drizzle/tables/mail.ts'
import type { MailState } from '#schemas/mail.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Database, Executor } from '#src/database/connect.ts'
import { deleteInBatches } from '#src/database/delete-in-batches.ts'
import { LEASE, nextAttempt } from '../queue/worker.ts'
import { isOneLine, plainAddress } from './mail-address.ts'
import { REFUSED_LOGIN, type SmtpFailure } from './smtp-errors.ts'

/** A mail to one recipient. */
export interface Mail { to: string, subject: string, html: string, text: string }

/** A mail claimed by this process. `attempts` includes this attempt, and distinguishes this claim from later ones. */
export interface Claimed { id: number, message_id: string, content: Buffer | null, attempts: number }

const SUBJECT_MAX = 255
/** Messages for an invalid recipient and subject. */
export const NO_ADDRESS = 'non è un indirizzo e-mail valido'
export const NO_SUBJECT = `deve essere una riga, da 1 a ${SUBJECT_MAX} caratteri`

/** Truncated, because the columns would round up, and then the mail would be due later. */
const NOW = sql`date_trunc('milliseconds', now())`

/**
 * Queues a mail in the caller's transaction, with encrypted content.
 * @throws CampiNonValidi if the recipient is not a plain address, or the subject not one line of 1 to 255 characters
 */
export async function enqueue (
  executor: Executor,
  keys: Keys,
  domain: string,
  mail: Mail
): Promise<{ id: number; messageId: string }> {
  const { to, subject, html, text } = mail
  const address = plainAddress(to)
  if (address === undefined) throw new CampiNonValidi({ campo: 'to', messaggio: NO_ADDRESS })
  if (!isSubject(subject)) throw new CampiNonValidi({ campo: 'subject', messaggio: NO_SUBJECT })
  const messageId = `<${randomUUID()}@${domain}>`
  const content = keys.seal(JSON.stringify({ to: address, subject, html, text } satisfies Mail), context(messageId))
  const [row] = await executor
    .insert(mails)
    .values({ message_id: messageId, content, next_attempt_at: NOW })
    .returning({ id: mails.id })
  return { id: row!.id, messageId }
}

export function isSubject (text: string): boolean {
  return text.trim() !== '' && text.length <= SUBJECT_MAX && isOneLine(text)
}

/**
 * Claims the mail that has been due longest, for the lease of one attempt. After a refused login no mail is due until
 * the back-off ends, because repeated wrong passwords would lock the mailbox.
 */
export async function claim (db: Database): Promise<Claimed | undefined> {
  const refused = db.select({ id: mails.id }).from(mails)
    .where(and(eq(mails.stato, 'in_coda'), eq(mails.last_error, REFUSED_LOGIN), sql`${mails.next_attempt_at} > now()`))
  const due = db.select({ id: mails.id }).from(mails)
    .where(and(eq(mails.stato, 'in_coda'), lte(mails.next_attempt_at, sql`now()`), sql`not exists (${refused})`))
    .orderBy(asc(mails.next_attempt_at), asc(mails.id)).limit(1).for('update', { skipLocked: true })
  const [mail] = await db
    .update(mails)
    .set({ attempts: sql`${mails.attempts} + 1`, next_attempt_at: LEASE, last_error: null, reply: null })
    .where(eq(mails.id, sql`(${due})`))
    .returning({ id: mails.id, message_id: mails.message_id, content: mails.content, attempts: mails.attempts })
  return mail
}

/** Decrypts a claimed mail. @throws if it was sealed with another key */
export function unsealMail (keys: Keys, { message_id: messageId, content }: Claimed): Mail {
  return JSON.parse(keys.unseal(content!, context(messageId)).toString()) as Mail
}

/** Records the server's reply and erases the mail's content. */
export async function delivered (db: Database, mail: Claimed, reply: string | null): Promise<void> {
  await db.update(mails).set({ stato: 'inviata', content: null, sent_at: sql`now()`, reply }).where(stillMine(mail))
}

/** Records a failed attempt. The mail is retried until it is 24 hours old. A permanent failure ends the delivery. */
export async function failed (
  db: Database,
  mail: Claimed,
  { code, permanent }: SmtpFailure,
  reply: string | null
): Promise<MailState> {
  const over = permanent ? sql`true` : sql`${mails.created_at} <= now() - interval '24 hours'`
  const [row] = await db
    .update(mails)
    .set({
      stato: sql`case when ${over} then 'fallita' else 'in_coda' end`,
      content: sql`case when ${over} then null else ${mails.content} end`,
      next_attempt_at: nextAttempt(mail.attempts),
      last_error: code,
      reply
    })
    .where(stillMine(mail))
    .returning({ stato: mails.stato })
  return row?.stato ?? 'in_coda'
}

/** Allows a login after a restart, because the password may have been corrected. */
export async function forgetRefusedLogin (db: Database): Promise<void> {
  await db.update(mails).set({ next_attempt_at: NOW })
    .where(and(eq(mails.stato, 'in_coda'), eq(mails.last_error, REFUSED_LOGIN)))
}

/** Counts the mails in each state. */
export async function countByState (db: Database): Promise<Record<MailState, number>> {
  const rows = await db.select({ stato: mails.stato, total: count() }).from(mails).groupBy(mails.stato)
  const counts: Record<MailState, number> = { in_coda: 0, inviata: 0, fallita: 0 }
  for (const { stato, total } of rows) counts[stato] = total
  return counts
}

/** Deletes mails older than 30 days. */
export async function deleteOld (db: Database): Promise<void> {
  await deleteInBatches(db, mails, lt(mails.created_at, sql`now() - interval '30 days'`))
}

/** Condition: no other process has claimed the mail after the lease expired. */
function stillMine ({ id, attempts }: Claimed) {
  return and(eq(mails.id, id), eq(mails.stato, 'in_coda'), eq(mails.attempts, attempts))
}

function context (messageId: string): string {
  return `mails.content/${messageId}`
}
