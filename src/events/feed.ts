import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import type { FastifyBaseLogger } from 'fastify'
import {
  eventi, eventi_in_arrivo as arriving, webhook_consegne as deliveries, webhooks
} from '#drizzle/tables/events.ts'
import type { Notifications } from '#src/database/notifications.ts'
import type { Database, Transaction } from '#src/database/connect.ts'
import { LOCKS } from '#src/database/locks.ts'
import { queueWorker } from '#src/services/queue/worker.ts'
import { endOfEvents } from './event-list.ts'

/**
 * Inserts one delivery for each event of the CTE `ordered` and each active webhook subscribed to its type. Only the
 * webhook under test gets a test event.
 */
const fanOut = sql`
  insert into ${deliveries} (webhook_id, evento, oggetto)
  select w.id, o.posizione, o.oggetto from ordered o
    join ${webhooks} w on w.stato = 'attivo' and case
      when o.tipo = 'webhook.prova' then o.oggetto = 'webhook:' || w.id
      else w.tipi = '{}' or o.tipo = any(w.tipi)
    end
  order by o.posizione, w.id`

/** Maximum events that one transaction orders or deletes. */
const BATCH = 1000
const KEPT_SINCE = sql`now() - interval '30 days'`
/** A number greater than every position. */
const BEYOND = 2 ** 31

/**
 * Assigns positions to the events of committed transactions, and queues their webhook deliveries. A sequence assigns
 * its numbers at write time, not in commit order, so a reader could miss an event that commits late. Therefore one
 * process at a time, under a lock, assigns positions after the commit. Transaction ids are unsuitable, because they
 * start again in a restored database.
 * @param batches maximum batches of 1,000 events, the oldest first
 */
export async function orderEvents (db: Database, batches = Infinity): Promise<void> {
  for (let batch = 0; batch < batches && await anyArriving(db); batch++) await db.transaction(orderBatch)
}

async function anyArriving (db: Database): Promise<boolean> {
  const [row] = await db.select({ numero: arriving.numero }).from(arriving).limit(1)
  return row !== undefined
}

async function orderBatch (tx: Transaction): Promise<void> {
  // A separate statement. The next statement then sees all commits before the lock was taken.
  await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.eventOrder})`)
  // A rolled-back transaction leaves a gap in the sequence. The reset avoids gaps, and lets positions start at 1.
  await tx.execute(sql`
    select setval(pg_get_serial_sequence('eventi', 'posizione'), coalesce(max(posizione), 1), count(*) > 0)
      from (select posizione from ${eventi} order by posizione desc limit 1) as last`)
  // Locks webhooks, so that none is deleted or suspended during the next statement.
  await tx.execute(sql`select from ${webhooks} order by id for share`)
  // Transactions that change the same object are serialized by row locks, so `numero` has the order of their events.
  await tx.execute(sql`
    with taken as (
      delete from ${arriving}
      where numero in (select numero from ${arriving} order by numero limit ${BATCH}) returning *
    ), ordered as (
      insert into ${eventi} (id, tipo, oggetto, prenotazione_id, dettaglio, quando)
      select id, tipo, oggetto, prenotazione_id, dettaglio, quando from taken order by numero
      returning posizione, tipo, oggetto
    )
    ${fanOut}`)
}

/**
 * Deletes events older than 30 days, except the last of them, so that its cursor stays valid. Keeps events with a
 * queued delivery, and all events after them. Events are deleted only in order of position, because in a list with gaps
 * the server could not detect that a reader missed one.
 */
export async function deleteOldEvents (db: Database): Promise<void> {
  while (await db.transaction(deleteBatch) === BATCH);
}

/** Deletes the next batch of old events, the oldest first. @returns the number of deleted events */
async function deleteBatch (tx: Transaction): Promise<number> {
  // The repetition of a delivery locks its webhook first. So it either commits before the next statement, which then
  // sees it, or waits until this transaction ends.
  await tx.execute(sql`select from ${webhooks} order by id for share`)
  // No `skip locked`: if another transaction has locked an event, later events must not be deleted before it.
  const { count } = await tx.execute(sql`
    delete from ${eventi} where posizione in (
      select posizione from ${eventi} where posizione < (
        select max(posizione) from ${eventi} where posizione < coalesce(least(
          (select min(posizione) from ${eventi} where quando >= ${KEPT_SINCE}),
          (select min(evento) from ${deliveries} where stato = 'in_coda')), ${BEYOND}::bigint))
      order by posizione limit ${BATCH})`)
  return count
}

/** Minimum pause between two queries, so that many changes cost one query. */
const PAUSE_MS = 100
/**
 * Polling interval while the process has followers. When several transactions write events concurrently, only one of
 * them notifies. The others may commit later.
 */
const POLL_MS = 1000
/** Limits the waiting time of a request during a large import. */
const BATCHES_OF_A_REQUEST = 5

interface FeedOptions {
  db: Database
  notifications: Notifications
  log: Pick<FastifyBaseLogger, 'error'>
  /** Whether the error means a full disk, which is logged elsewhere. */
  isReported: (err: unknown) => boolean
}

export type EventFeed = ReturnType<typeof eventFeed>

/** Notifies the followers in this process of new events. */
export function eventFeed ({ db, notifications, log, isReported }: FeedOptions) {
  const followers = new Set<() => void>()
  /** The last position of which followers were notified. Another process or a request may have assigned it. */
  let notifiedPosition: number | undefined
  const worker = queueWorker<never>({
    async claim () {
      await orderEvents(db)
      const { position } = await endOfEvents(db)
      if (position !== notifiedPosition) for (const onNews of [...followers]) onNews()
      notifiedPosition = position
      await sleep(PAUSE_MS, undefined, { ref: false })
      return undefined
    },
    carryOut: async () => true,
    onError (err) {
      if (!isReported(err)) log.error({ err }, 'events could not be ordered')
    }
  })

  const listener = notifications.subscribe({ events: wakeForFollowers }, wakeForFollowers)
  const timer = setInterval(wakeForFollowers, POLL_MS).unref()

  function wakeForFollowers (): void {
    if (followers.size > 0) worker.wake()
  }

  return {
    /** Calls `onNews` for new events. Returns a function that stops it. */
    follow (onNews: () => void): () => void {
      followers.add(onNews)
      wakeForFollowers()
      return () => { followers.delete(onNews) }
    },
    /** Starts to listen for notifications. Resolves when the process listens, or when LISTEN has failed. */
    ready: () => listener.ready(),
    /** Assigns positions to committed events: by default to a limited number of batches. */
    order: (batches = BATCHES_OF_A_REQUEST) => orderEvents(db, batches),
    /** Stops the feed, and waits for the query in progress. */
    async close () {
      clearInterval(timer)
      await worker.stop()
    }
  }
}
