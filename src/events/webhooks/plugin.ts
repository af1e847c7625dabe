import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Transaction } from '#src/database/connect.ts'
import noBody from '#src/http/no-body.ts'
import type { EventFeed } from '../feed.ts'
import { countByState, queueAge } from './deliveries.ts'
import deliveryRoutes from './delivery-routes.ts'
import { receivers as receiversOf } from './receivers.ts'
import { hasActive } from './repository.ts'
import webhookRoutes from './routes.ts'
import { sender } from './send.ts'
import { suspensionMail, type Suspended } from './suspension-mail.ts'
import { deliveryWorker } from './worker.ts'

export interface WebhookTimes {
  /** Milliseconds until the second attempt. */
  firstDelayMs: number
  /** Milliseconds for one attempt. */
  attemptMs: number
}

export interface WebhooksOptions { feed: EventFeed, config: Config, keys: Keys, times: Partial<WebhookTimes> }

const FIRST_DELAY_MS = 5000
const ATTEMPT_MS = 10_000
/** How much longer than an attempt a claim lasts: the receiver's name is resolved, the outcome written down. */
const SLACK_MS = 20_000

/** Webhooks, and the worker of this process that delivers to them. */
const webhooks: FastifyPluginAsyncTypebox<WebhooksOptions> = async (app, { feed, config, keys, times }) => {
  const { db, log, mail } = app
  const { firstDelayMs = FIRST_DELAY_MS, attemptMs = ATTEMPT_MS } = times
  const receivers = receiversOf(config.WEBHOOKS_TO_LOOPBACK)
  const worker = deliveryWorker({
    db,
    keys,
    send: sender(receivers, attemptMs),
    times: { firstDelayMs, leaseMs: attemptMs + SLACK_MS },
    suspensions: { write: writeMails, tell: () => mail.deliver() },
    log,
    isTold: app.isToldOfDisk
  })
  /** Ends following the events; without a webhook to serve this process does not follow them. */
  let leave: (() => void) | undefined

  /** To those who are told of alarms. */
  async function writeMails (tx: Transaction, suspended: Suspended): Promise<void> {
    for (const to of mail.configured ? config.ALARM_EMAIL : []) {
      await mail.enqueue(tx, { to, ...suspensionMail(suspended) })
    }
  }

  async function refresh (): Promise<void> {
    const isWanted = await hasActive(db)
    if (!isWanted) {
      leave?.()
      leave = undefined
      return
    }
    leave ??= feed.follow(worker.wake)
    await feed.ready()
    feed.look()
  }

  app.addJob({
    name: 'webhooks',
    description: 'Consegna gli eventi ai webhook',
    cron: '* * * * *',
    // It wakes the worker of this process.
    everyProcess: true,
    atStart: true,
    run: refresh
  })
  app.addGauge({
    name: 'webhook_deliveries',
    help: 'Deliveries to webhooks of the last 30 days by state.',
    label: 'stato',
    read: () => countByState(db)
  })
  app.addGauge({
    name: 'webhook_queue_age_seconds',
    help: 'Age of the oldest event that still waits for its delivery to a webhook; 0 when none does.',
    read: () => queueAge(db)
  })
  app.addHook('preClose', worker.stop)

  await app.register(noBody)
  const closePast = () => feed.order(Infinity)
  // After what is committed: the answer says so, and the job makes good what fails here.
  const onChange = () => refresh().catch((err: unknown) => app.log.error({ err }, 'webhooks could not be looked up'))
  await app.register(webhookRoutes, { keys, receivers, closePast, onChange })
  await app.register(deliveryRoutes, { closePast, onChange })
}
export default webhooks
