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

/** The settings of an application that sends through this server; the key is the same for every one. */
export function environ ({ url }: { url: string }): Record<string, string> {
  return { SMTP_URL: url, MAIL_FROM: `Locanda <${FROM}>`, MASTER_KEY: MASTER_KEY.toString('base64') }
}

/** Puts a mail into the queue and has the worker look. */
export async function post (app: FastifyInstance, mail: Partial<Mail> = {}) {
  const posted = await app.mail.enqueue(app.db, { ...MAIL, ...mail })
  app.mail.deliver()
  return posted
}

/** Puts a mail into the queue that is not due before `comeDue`: no worker touches it meanwhile. */
export function putAside (app: Pick<FastifyInstance, 'db'>, mail: Partial<Mail> = {}) {
  return app.db.transaction(async (tx) => {
    const posted = await enqueue(tx, KEYS, 'locanda.example', { ...MAIL, ...mail })
    await tx.update(mails).set({ next_attempt_at: sql`now() + interval '1 hour'` }).where(eq(mails.id, posted.id))
    return posted
  })
}

/** A worker without an application: it does nothing before it is told to. It is stopped when the test ends. */
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

/** The mail's row, as soon as `holds` is true of it. */
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

/** The row once an attempt has failed and another one is to come. */
export function postponed (app: Pick<FastifyInstance, 'db'>, id: number) {
  return row(app, id, ({ stato, last_error }) => stato === 'in_coda' && last_error !== null)
}

/** The row once nothing more will be done with it. */
export function over (app: Pick<FastifyInstance, 'db'>, id: number) {
  return row(app, id, ({ stato }) => stato !== 'in_coda')
}

/** As if the time of the next attempt had come. */
export async function comeDue (app: Pick<FastifyInstance, 'db'>, id?: number): Promise<void> {
  await app.db
    .update(mails)
    .set({ next_attempt_at: sql`now() - interval '1 second'` })
    .where(id === undefined ? undefined : eq(mails.id, id))
}
