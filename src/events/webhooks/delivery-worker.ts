import type { FastifyBaseLogger } from 'fastify'
import type { EventMessage } from '#schemas/event.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { within } from '#src/lib/within.ts'
import type { Database, Transaction } from '#src/database/connect.ts'
import { WebhookNonTrovato } from '../errors.ts'
import { claim, dueWebhooks, release, settle, type Claimed, type QueueTimes, type Suspended } from './delivery-queue.ts'
import { readSecret } from './repository.ts'
import type { Send } from './send-event.ts'
import { signatureHeaders } from './signature.ts'

/** Attempts of this process at a time for one webhook: a slow receiver holds up no other. */
const AT_ONCE = 2
/** How long the end of the process waits for attempts under way, and for the note of those that it breaks off. */
const CLOSE_WITHIN_MS = 2000

interface WorkerOptions {
  db: Database
  keys: Keys
  send: Send
  times: QueueTimes
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
export function deliveryWorker ({ db, log, isTold, times, ...options }: WorkerOptions) {
  const end = new AbortController()
  const breakOff = new AbortController()
  /** By webhook. */
  const underWay = new Map<number, number>()
  const attempts = new Set<Promise<void>>()
  let round: Promise<void> | undefined
  let wanted = false

  function wake (): void {
    if (end.signal.aborted) return
    wanted = true
    round ??= work()
  }

  async function work (): Promise<void> {
    try {
      while (wanted && !end.signal.aborted) {
        wanted = false
        for (const id of await dueWebhooks(db)) await fill(id)
      }
    } catch (err) {
      if (!isTold(err)) log.error({ err }, 'deliveries could not be worked on')
    } finally {
      round = undefined
    }
  }

  async function fill (webhook: number): Promise<void> {
    while (!end.signal.aborted && (underWay.get(webhook) ?? 0) < AT_ONCE) {
      const claimed = await claim(db, webhook, times)
      if (!claimed) return
      begin(claimed)
    }
  }

  function begin (claimed: Claimed): void {
    const { webhook_id: id } = claimed
    underWay.set(id, (underWay.get(id) ?? 0) + 1)
    const attempt = carryOut(claimed, { ...options, db, log, times, breakOff: breakOff.signal })
      .catch((err: unknown) => {
        // Deleted meanwhile, and its deliveries with it.
        if (err instanceof WebhookNonTrovato) return
        if (!isTold(err)) log.error({ err, consegna: claimed.id }, 'what came of a delivery could not be written down')
      })
      .finally(() => {
        attempts.delete(attempt)
        underWay.set(id, underWay.get(id)! - 1)
        wake()
      })
    attempts.add(attempt)
  }

  return {
    /** Delivers what is due, soon. */
    wake,
    /** Begins no further attempt; those under way are broken off after a little while, and made again later. */
    async stop (): Promise<void> {
      end.abort()
      await round
      await within(CLOSE_WITHIN_MS, Promise.all(attempts))
      breakOff.abort()
      await within(CLOSE_WITHIN_MS, Promise.all(attempts))
    }
  }
}

async function carryOut (
  claimed: Claimed,
  { db, keys, send, times, suspensions, log, breakOff }: Omit<WorkerOptions, 'isTold'> & { breakOff: AbortSignal }
): Promise<void> {
  const at = new Date()
  const startedAt = performance.now()
  const { segreto, segreto_precedente: before } = await readSecret(db, keys, claimed.webhook_id)
  const outcome = await send(messageOf(claimed, at, before === null ? [segreto] : [segreto, before]), breakOff)
  if (breakOff.aborted && outcome.stato_http === null) return await release(db, claimed)
  const durationMs = Math.round(performance.now() - startedAt)
  const settled = await settle(db, claimed, { ...outcome, at, durationMs }, times, suspensions.write)
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
