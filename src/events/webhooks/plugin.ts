import { createHmac } from 'node:crypto'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import type { EventMessage } from '#schemas/event.ts'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { html } from '#src/lib/html.ts'
import emptyBody from '#src/http/empty-body.ts'
import type { Mail } from '#src/services/mail/queue.ts'
import { queueWorker, type QueueWorker } from '#src/services/queue/worker.ts'
import { WebhookNonTrovato } from '../errors.ts'
import type { EventFeed } from '../feed.ts'
import { claim, type Claimed, countByState, queueAge, release, settle, type Suspended } from './delivery-queue.ts'
import { hasActive, MAX_WEBHOOKS, readSecret, SECRET_PREFIX } from './repository.ts'
import { deliveryRoutes, webhookRoutes } from './routes.ts'
import { GONE, receivers as receiversOf, type Send, sender } from './send-event.ts'

export interface WebhookTimes {
  /** Delay until the second attempt, in milliseconds. */
  firstDelayMs: number
  /** Timeout of one attempt, in milliseconds. */
  attemptMs: number
}

interface WebhooksOptions { feed: EventFeed, config: Config, keys: Keys, times: Partial<WebhookTimes> }

const FIRST_DELAY_MS = 5000
const ATTEMPT_MS = 10_000
/** Polling interval for due deliveries. */
const POLL_MS = 1000

/** The Italian mail about a suspension. It names only the host, because the rest of the URL may contain a secret. */
function suspensionMail ({ id, url, descrizione, outcome }: Suspended): Omit<Mail, 'to'> {
  const name = `Il webhook ${id}${descrizione === null ? '' : ` (${descrizione})`} verso ${new URL(url).host}`
  const { stato_http: status, errore } = outcome
  const paragraphs = [
    status === GONE
      ? `${name} ha risposto ${GONE}: non vuole altri eventi.`
      : `${name} da tre giorni non riceve alcuni o tutti gli eventi. ` +
        `Ultimo esito: ${status === null ? errore : `stato ${status}`}.`,
    'È sospeso: non gli si consegna più nulla. Ciò che succede intanto si legge in GET /api/v1/eventi.',
    `Un amministratore lo riattiva (POST /api/v1/webhooks/${id}/riattiva) o lo elimina (DELETE /api/v1/webhooks/${id}).`
  ]
  return {
    subject: `Locanda: sospeso il webhook ${id}`,
    text: paragraphs.join('\n\n') + '\n',
    html: html`${paragraphs.map((each) => html`<p>${each}</p>`)}`.html
  }
}

/** The webhooks, and the worker of this process that delivers to them. */
const webhooks: FastifyPluginAsyncTypebox<WebhooksOptions> = async (app, { feed, config, keys, times }) => {
  const { db, log } = app
  const { firstDelayMs = FIRST_DELAY_MS, attemptMs = ATTEMPT_MS } = times
  const receivers = receiversOf(config.WEBHOOKS_TO_LOOPBACK)
  const worker = deliveryWorker(app, { config, keys, send: sender(receivers, attemptMs), firstDelayMs })
  let timer: NodeJS.Timeout | undefined

  /** Starts the worker when an active webhook exists. The worker then follows the feed and polls. */
  async function refresh (): Promise<void> {
    if (!await hasActive(db)) return
    if (timer === undefined) {
      feed.follow(worker.wake)
      timer = setInterval(worker.wake, Math.min(POLL_MS, firstDelayMs)).unref()
    }
    await feed.ready()
    worker.wake()
  }

  app.addJob({
    name: 'webhooks',
    description: 'Consegna gli eventi ai webhook',
    cron: '* * * * *',
    // Each process wakes its own worker.
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
    clearInterval(timer)
    await worker.stop()
  })

  await app.register(emptyBody)
  const closePast = () => feed.order(Infinity)
  // The change is already committed. If this fails, the job retries it within a minute.
  const onChange = () => refresh().catch((err: unknown) => log.error({ err }, 'webhooks could not be read'))
  for (const routes of [webhookRoutes, deliveryRoutes]) {
    await app.register(routes, { keys, receivers, closePast, onChange })
  }
}
export default webhooks

/** Concurrent attempts per webhook in this process, so that a slow receiver does not delay others. */
const AT_ONCE = 2
/** Time limit on shutdown: attempts in progress are aborted after it, and their claims released. */
const CLOSE_WITHIN_MS = 2000

interface WorkerOptions {
  config: Config
  keys: Keys
  send: Send
  /** Delay until the second attempt, in milliseconds. */
  firstDelayMs: number
}

/**
 * Sends deliveries. Any number of processes may run it. Delivery is at least once: if a process is killed before it
 * records the response, another attempt with the same `webhook-id` follows.
 */
function deliveryWorker (app: FastifyInstance, options: WorkerOptions): QueueWorker {
  /** Number of attempts in progress, by webhook. */
  const underWay = new Map<number, number>()
  const count = (webhook: number, change: number) => underWay.set(webhook, (underWay.get(webhook) ?? 0) + change)

  return queueWorker<Claimed>({
    async claim () {
      const busy = [...underWay].filter(([, attempts]) => attempts >= AT_ONCE).map(([webhook]) => webhook)
      const claimed = await claim(app.db, busy)
      if (claimed) count(claimed.webhook_id, 1)
      return claimed
    },
    async carryOut (claimed, signal) {
      try {
        await attempt(app, claimed, signal, options)
      } catch (err) {
        // The webhook was deleted meanwhile, with its deliveries.
        if (!(err instanceof WebhookNonTrovato)) throw err
      } finally {
        count(claimed.webhook_id, -1)
      }
      return true
    },
    onError (err) {
      if (!app.isDiskFullReported(err)) app.log.error({ err }, 'deliveries could not be processed')
    },
    concurrency: AT_ONCE * MAX_WEBHOOKS,
    closeWithinMs: CLOSE_WITHIN_MS
  })
}

async function attempt (
  { db, log, mail }: FastifyInstance, claimed: Claimed, signal: AbortSignal, options: WorkerOptions
): Promise<void> {
  const { config, keys, send, firstDelayMs } = options
  const at = new Date()
  const startedAt = performance.now()
  const { segreto, segreto_precedente: before } = await readSecret(db, keys, claimed.webhook_id)
  const outcome = await send(messageOf(claimed, at, before === null ? [segreto] : [segreto, before]), signal)
  if (signal.aborted && outcome.stato_http === null) return await release(db, claimed)
  const durationMs = Math.round(performance.now() - startedAt)
  const recipients = mail.configured ? config.ALARM_EMAIL : []
  const settled = await settle(db, claimed, { ...outcome, at, durationMs }, firstDelayMs, async (tx, suspended) => {
    for (const to of recipients) await mail.enqueue(tx, { to, ...suspensionMail(suspended) })
  })
  if (settled === 'sospeso') {
    mail.deliver()
    log.error({ webhook: claimed.webhook_id, ...outcome }, 'a webhook is suspended')
  } else if (settled === 'in_coda') {
    log.warn({ webhook: claimed.webhook_id, consegna: claimed.id, ...outcome }, 'delivery of an event failed')
  }
}

function messageOf ({ url, event }: Claimed, at: Date, secrets: readonly string[]) {
  const message: EventMessage = { type: event.tipo, timestamp: event.quando, data: event }
  const body = JSON.stringify(message)
  const signed = signatureHeaders({ id: event.id, at, body }, secrets)
  return { url, body, headers: { 'content-type': 'application/json', 'user-agent': 'Locanda', ...signed } }
}

/**
 * The headers of a message, with one signature per secret, so that the receiver may use the old or the new one.
 * Standard Webhooks: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
function signatureHeaders (
  { id, at, body }: { id: string, at: Date, body: string }, secrets: readonly string[]
): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const sign = (secret: string) => createHmac('sha256', Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64'))
    .update(`${id}.${timestamp}.${body}`).digest('base64')
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map((secret) => `v1,${sign(secret)}`).join(' ')
  }
}
