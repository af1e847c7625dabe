import fp from 'fastify-plugin'
import { ConfigError } from '#src/config/data-folder.ts'
import { type Config } from '#src/config/config.ts'
import { PostaNonConfigurata } from '#src/lib/errors.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Executor } from '#src/database/connect.ts'
import { mailbox, type Mailbox } from './mail-address.ts'
import { awaitDelivery, readDeliveryStatuses, type DeliveryStatus } from './delivery-status.ts'
import { countByState, deleteOld, enqueue, type Mail } from './queue.ts'
import { smtpTransport } from './transport.ts'
import { mailWorker } from './mail-worker.ts'

export interface Mailer {
  /** Whether a mail server is configured. */
  configured: boolean
  /**
   * Queues a mail, which is sent after the commit of the caller's transaction. See `deliver`.
   * @throws PostaNonConfigurata without a server, CampiNonValidi for an invalid recipient or subject
   */
  enqueue (executor: Executor, mail: Mail): Promise<{ id: number, messageId: string }>
  /** Wakes the worker that sends queued mails, which otherwise runs within a minute. Call it after the commit. */
  deliver (): void
  /** The delivery status of mails. Deleted mails are left out. */
  deliveryStatuses (ids: readonly number[]): Promise<DeliveryStatus[]>
  /**
   * Resolves with the delivery statuses when each mail was tried, or after `ms` milliseconds. Never rejects: statuses
   * that cannot be read are left out.
   */
  awaitDelivery (ids: readonly number[], ms: number): Promise<DeliveryStatus[]>
}

declare module 'fastify' {
  interface FastifyInstance {
    mail: Mailer
  }
}

/**
 * Mail through the server of `SMTP_URL`. A request only queues a mail in its own transaction. A worker of any process
 * delivers it.
 */
export default fp<{ config: Config, keys: Keys }>(async function mail (app, { config, keys }) {
  app.addGauge({
    name: 'mails',
    help: 'Mails of the last 30 days by state.',
    label: 'stato',
    read: () => countByState(app.db)
  })
  app.addJob({
    name: 'old-mails',
    description: 'Elimina le e-mail di più di 30 giorni fa',
    cron: '43 3 * * *',
    run: () => deleteOld(app.db)
  })

  const reading: Pick<Mailer, 'deliveryStatuses' | 'awaitDelivery'> = {
    deliveryStatuses: (ids) => readDeliveryStatuses(app.db, ids),
    awaitDelivery: (ids, ms) => awaitDelivery(app.db, app.log, ids, ms)
  }
  if (config.SMTP_URL === undefined) {
    app.decorate('mail', {
      ...reading,
      configured: false,
      deliver () {},
      enqueue: async () => { throw new PostaNonConfigurata() }
    })
    return
  }
  const from = sender(config.MAIL_FROM)
  const domain = from.address.slice(from.address.indexOf('@') + 1)
  const transport = smtpTransport(config.SMTP_URL, from)
  app.addHealthCheck({ setting: 'SMTP_URL', ...transport.server })
  const {
    wake: deliver,
    stop
  } = mailWorker({ db: app.db, keys, transport, log: app.log, isReported: app.isDiskFullReported })

  app.decorate('mail', {
    ...reading,
    configured: true,
    deliver,
    enqueue: (executor, mail) => enqueue(executor, keys, domain, mail)
  })
  // The job only wakes the worker. At shutdown `stop` waits for one attempt, not for the whole queue.
  app.addJob({
    name: 'mails',
    description: 'Consegna le e-mail in coda',
    cron: '* * * * *',
    // Wakes the worker of this process.
    everyProcess: true,
    atStart: true,
    run: async () => deliver()
  })
  app.addHook('preClose', stop)
}, { name: 'mail', dependencies: ['database', 'disk', 'jobs', 'metrics', 'startup-health-check'] })

function sender (text: string | undefined): Mailbox {
  const from = text === undefined ? undefined : mailbox(text.trim())
  if (!from) throw new ConfigError('MAIL_FROM', 'deve essere un indirizzo e-mail, o Nome <indirizzo>')
  return from
}
