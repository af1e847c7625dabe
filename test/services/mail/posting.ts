import { eq, sql } from 'drizzle-orm'
import type { FastifyInstance } from 'fastify'
import { mails } from '#drizzle/tables/mail.ts'
import pino from 'pino'
import type { Test } from 'tap'
import { createKeys } from '#src/lib/secrets.ts'
import { enqueue, type Mail } from '#src/services/mail/queue.ts'
import { smtpTransport } from '#src/services/mail/transport.ts'
import { mailWorker } from '#src/services/mail/mail-worker.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { testDatabase } from '#test/database.ts'

export const FROM = 'posta@locanda.example'
const MASTER_KEY = Buffer.alloc(32, 7)
const KEYS = createKeys(MASTER_KEY)
export const MAIL: Mail = { to: 'ada@ospiti.example', subject: 'Prova', html: '<p>Città</p>', text: 'Città' }

/** Environment of an application that uses this SMTP server. All share one master key. */
export function environ ({ url }: { url: string }): Record<string, string> {
  return { SMTP_URL: url, MAIL_FROM: `Locanda <${FROM}>`, MASTER_KEY: MASTER_KEY.toString('base64') }
}

/** Queues a mail and wakes the worker. */
export async function post (app: FastifyInstance, mail: Partial<Mail> = {}) {
  const posted = await app.mail.enqueue(app.db, { ...MAIL, ...mail })
  app.mail.deliver()
  return posted
}

/** Queues a mail that is not due before `comeDue`, so that no worker claims it. */
export function putAside (app: Pick<FastifyInstance, 'db'>, mail: Partial<Mail> = {}) {
  return app.db.transaction(async (tx) => {
    const posted = await enqueue(tx, KEYS, 'locanda.example', { ...MAIL, ...mail })
    await tx.update(mails).set({ next_attempt_at: sql`now() + interval '1 hour'` }).where(eq(mails.id, posted.id))
    return posted
  })
}

/** A worker without an application, which is idle until it is woken. It stops when the test ends. */
export async function bareWorker (t: Test, smtp: { url: string }, options: { closeWithinMs?: number } = {}) {
  const { db } = await testDatabase(t)
  const worker = mailWorker({
    db,
    keys: KEYS,
    transport: smtpTransport(smtp.url, { name: '', address: FROM }),
    log: pino({ enabled: false }),
    ...options
  })
  t.teardown(() => worker.stop())
  return {
    db,
    worker,
    enqueue: (mail: Partial<Mail> = {}) => enqueue(db, KEYS, 'locanda.example', { ...MAIL, ...mail })
  }
}

/** The mail's row, as soon as `holds` is true for it. */
export async function row (
  app: Pick<FastifyInstance, 'db'>,
  id: number,
  holds: (mail: typeof mails.$inferSelect) => boolean = () => true
) {
  let mail: typeof mails.$inferSelect | undefined
  await until(async () => {
    [mail] = await app.db.select().from(mails).where(eq(mails.id, id))
    return mail !== undefined && holds(mail)
  })
  return mail!
}

/** The row after a failed attempt that will be retried. */
export function postponed (app: Pick<FastifyInstance, 'db'>, id: number) {
  return row(app, id, ({ stato, last_error }) => stato === 'in_coda' && last_error !== null)
}

/** The row after the end of the delivery. */
export function over (app: Pick<FastifyInstance, 'db'>, id: number) {
  return row(app, id, ({ stato }) => stato !== 'in_coda')
}

/** Makes the next attempt due. */
export async function comeDue (app: Pick<FastifyInstance, 'db'>, id?: number): Promise<void> {
  await app.db
    .update(mails)
    .set({ next_attempt_at: sql`now() - interval '1 second'` })
    .where(id === undefined ? undefined : eq(mails.id, id))
}
