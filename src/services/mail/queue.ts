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
import { REFUSED_LOGIN, type Failure } from './failure.ts'

/** A mail to one recipient. */
export interface Mail { to: string, subject: string, html: string, text: string }

/** A mail that this process is to send now; `attempts`, this one included, tells its claim from later ones. */
export interface Claimed { id: number, message_id: string, content: Buffer | null, attempts: number }

const SUBJECT_MAX = 255
/** What is wrong with a recipient, and with a subject. */
export const NO_ADDRESS = 'non è un indirizzo e-mail valido'
export const NO_SUBJECT = `deve essere una riga, da 1 a ${SUBJECT_MAX} caratteri`

/** Cut off, not rounded up as the columns would: due at once. */
const NOW = sql`date_trunc('milliseconds', now())`

/**
 * Puts a mail into the queue, in the caller's transaction; its content is sealed.
 * @throws CampiNonValidi where the recipient is not one plain address, or the subject not one line of 1 to 255
 * characters
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
 * Takes the mail that has been due for longest, for as long as an attempt may last; no other process gets it meanwhile.
 * Nothing is due while a refused login is waited out: a mailbox that is asked again and again with a wrong password is
 * locked.
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

/** The mail that is to be sent. @throws when it was sealed with another key */
export function unsealMail (keys: Keys, { message_id: messageId, content }: Claimed): Mail {
  return JSON.parse(keys.unseal(content!, context(messageId)).toString()) as Mail
}

/** The server has taken it with this reply: what the mail said is forgotten. */
export async function delivered (db: Database, mail: Claimed, reply: string | null): Promise<void> {
  await db.update(mails).set({ stato: 'inviata', content: null, sent_at: sql`now()`, reply }).where(stillMine(mail))
}

/** It was not taken: it is tried again later, until it is 24 hours old; a permanent failure ends it at once. */
export async function failed (
  db: Database,
  mail: Claimed,
  { code, permanent }: Failure,
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

/** A new start is a new chance: the password may have been put right. */
export async function forgetRefusedLogin (db: Database): Promise<void> {
  await db.update(mails).set({ next_attempt_at: NOW })
    .where(and(eq(mails.stato, 'in_coda'), eq(mails.last_error, REFUSED_LOGIN)))
}

/** How many mails are in each state. */
export async function countByState (db: Database): Promise<Record<MailState, number>> {
  const rows = await db.select({ stato: mails.stato, total: count() }).from(mails).groupBy(mails.stato)
  const counts: Record<MailState, number> = { in_coda: 0, inviata: 0, fallita: 0 }
  for (const { stato, total } of rows) counts[stato] = total
  return counts
}

/** Forgets the mails of more than 30 days ago. */
export async function deleteOld (db: Database): Promise<void> {
  await deleteInBatches(db, mails, lt(mails.created_at, sql`now() - interval '30 days'`))
}

/** Not so once its claim ran out and another process took it. */
function stillMine ({ id, attempts }: Claimed) {
  return and(eq(mails.id, id), eq(mails.stato, 'in_coda'), eq(mails.attempts, attempts))
}

function context (messageId: string): string {
  return `mails.content/${messageId}`
}
