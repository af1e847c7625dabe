import type { FastifyBaseLogger } from 'fastify'
import type { EventMessage } from '#schemas/event.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Database, Transaction } from '#src/database/connect.ts'
import { queueWorker, type QueueWorker } from '#src/services/queue/worker.ts'
import { WebhookNonTrovato } from '../errors.ts'
import { claim, release, settle, type Claimed, type Suspended } from './delivery-queue.ts'
import { MAX_WEBHOOKS, readSecret } from './repository.ts'
import type { Send } from './send-event.ts'
import { signatureHeaders } from './signature.ts'

/** Attempts of this process at a time for one webhook: a slow receiver holds up no other. */
const AT_ONCE = 2
/** The end of the process waits no longer for attempts under way, and for the note of those that it aborts. */
const CLOSE_WITHIN_MS = 2000

interface WorkerOptions {
  db: Database
  keys: Keys
  send: Send
  /** Milliseconds until the second attempt. */
  firstDelayMs: number
  /** Tells people of a suspension: what is to be told is written down in the transaction, and told after it. */
  suspensions: { write: (tx: Transaction, suspended: Suspended) => Promise<void>, tell: () => void }
  log: Pick<FastifyBaseLogger, 'error' | 'warn'>
  /** Whether an error comes of a full disk: then the log says so already. */
  isTold: (err: unknown) => boolean
}

/**
 * Carries out deliveries; any number of processes may do so. Each is made at least once: when a process dies between
 * the receiver's answer and the note of it, it is made again, with the same `webhook-id`.
 */
export function deliveryWorker (options: WorkerOptions): QueueWorker {
  const { db, log, isTold } = options
  /** Attempts under way, by webhook. */
  const underWay = new Map<number, number>()
  const count = (webhook: number, change: number) => underWay.set(webhook, (underWay.get(webhook) ?? 0) + change)

  return queueWorker<Claimed>({
    async claim () {
      const busy = [...underWay].filter(([, attempts]) => attempts >= AT_ONCE).map(([webhook]) => webhook)
      const claimed = await claim(db, busy)
      if (claimed) count(claimed.webhook_id, 1)
      return claimed
    },
    async carryOut (claimed, signal) {
      try {
        await attempt(claimed, signal, options)
      } catch (err) {
        // Deleted meanwhile, and its deliveries with it.
        if (!(err instanceof WebhookNonTrovato)) throw err
      } finally {
        count(claimed.webhook_id, -1)
      }
      return true
    },
    onError (err) {
      if (!isTold(err)) log.error({ err }, 'deliveries could not be worked on')
    },
    concurrency: AT_ONCE * MAX_WEBHOOKS,
    closeWithinMs: CLOSE_WITHIN_MS
  })
}

async function attempt (
  claimed: Claimed, signal: AbortSignal, { db, keys, send, firstDelayMs, suspensions, log }: WorkerOptions
): Promise<void> {
  const at = new Date()
  const startedAt = performance.now()
  const { segreto, segreto_precedente: before } = await readSecret(db, keys, claimed.webhook_id)
  const outcome = await send(messageOf(claimed, at, before === null ? [segreto] : [segreto, before]), signal)
  if (signal.aborted && outcome.stato_http === null) return await release(db, claimed)
  const durationMs = Math.round(performance.now() - startedAt)
  const settled = await settle(db, claimed, { ...outcome, at, durationMs }, firstDelayMs, suspensions.write)
  if (settled === 'sospeso') {
    suspensions.tell()
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
