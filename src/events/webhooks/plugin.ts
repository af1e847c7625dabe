import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { html } from '#src/lib/html.ts'
import type { Database, Transaction } from '#src/database/connect.ts'
import noBody from '#src/http/no-body.ts'
import type { Mail } from '#src/services/mail/queue.ts'
import type { EventFeed } from '../feed.ts'
import { countByState, queueAge } from './deliveries.ts'
import deliveryRoutes from './delivery-routes.ts'
import { receivers as receiversOf } from './receivers.ts'
import type { Suspended } from './delivery-queue.ts'
import { hasActive } from './repository.ts'
import webhookRoutes from './routes.ts'
import { GONE, sender } from './send-event.ts'
import { deliveryWorker } from './delivery-worker.ts'

export interface WebhookTimes {
  /** Milliseconds until the second attempt. */
  firstDelayMs: number
  /** Milliseconds for one attempt. */
  attemptMs: number
}

interface WebhooksOptions { feed: EventFeed, config: Config, keys: Keys, times: Partial<WebhookTimes> }

const FIRST_DELAY_MS = 5000
const ATTEMPT_MS = 10_000
/** Between looks for what has come due. */
const LOOK_MS = 1000

/** The mail that tells of a suspension, Italian. It names the host alone: the rest of the address may hold a secret. */
function suspensionMail ({ id, url, descrizione, outcome }: Suspended): Omit<Mail, 'to'> {
  const name = `Il webhook ${id}${descrizione === null ? '' : ` (${descrizione})`} verso ${new URL(url).host}`
  const { stato_http: status, errore } = outcome
  const paragraphs = [
    status === GONE
      ? `${name} ha risposto ${GONE}: non vuole altri eventi.`
      : `${name} da tre giorni non riceve gli eventi. Ultimo esito: ${status === null ? errore : `stato ${status}`}.`,
    'È sospeso: non gli si consegna più nulla. Ciò che succede intanto si legge in GET /api/v1/eventi.',
    `Un amministratore lo riattiva (POST /api/v1/webhooks/${id}/riattiva) o lo elimina (DELETE /api/v1/webhooks/${id}).`
  ]
  return {
    subject: `Locanda: sospeso il webhook ${id}`,
    text: paragraphs.join('\n\n') + '\n',
    html: html`${paragraphs.map((each) => html`<p>${each}</p>`)}`.html
  }
}

/** Follows the events, and wakes the worker now and then, as long as there is a webhook to serve. */
function follower (db: Database, feed: EventFeed, wake: () => void, everyMs: number) {
  let timer: NodeJS.Timeout | undefined
  let unfollow: (() => void) | undefined

  function leave (): void {
    clearInterval(timer)
    unfollow?.()
    unfollow = undefined
  }

  async function refresh (): Promise<void> {
    if (!await hasActive(db)) return leave()
    if (unfollow === undefined) {
      unfollow = feed.follow(wake)
      timer = setInterval(wake, everyMs).unref()
    }
    await feed.ready()
    wake()
  }

  return { refresh, leave }
}

/** Webhooks, and the worker of this process that delivers to them. */
const webhooks: FastifyPluginAsyncTypebox<WebhooksOptions> = async (app, { feed, config, keys, times }) => {
  const { db, log, mail } = app
  const { firstDelayMs = FIRST_DELAY_MS, attemptMs = ATTEMPT_MS } = times
  const receivers = receiversOf(config.WEBHOOKS_TO_LOOPBACK)
  const worker = deliveryWorker({
    db,
    keys,
    send: sender(receivers, attemptMs),
    firstDelayMs,
    suspensions: { write: writeMails, tell: () => mail.deliver() },
    log,
    isTold: app.isToldOfDisk
  })
  const { refresh, leave } = follower(db, feed, worker.wake, Math.min(LOOK_MS, firstDelayMs))

  /** To those who are told of alarms. */
  async function writeMails (tx: Transaction, suspended: Suspended): Promise<void> {
    for (const to of mail.configured ? config.ALARM_EMAIL : []) {
      await mail.enqueue(tx, { to, ...suspensionMail(suspended) })
    }
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
  app.addHook('preClose', async () => {
    leave()
    await worker.stop()
  })

  await app.register(noBody)
  const closePast = () => feed.order(Infinity)
  // After what is committed: the answer says so, and the job makes good what fails here.
  const onChange = () => refresh().catch((err: unknown) => app.log.error({ err }, 'webhooks could not be looked up'))
  await app.register(webhookRoutes, { keys, receivers, closePast, onChange })
  await app.register(deliveryRoutes, { closePast, onChange })
}
export default webhooks
