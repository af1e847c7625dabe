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
 * Inserts one delivery for each event of the CTE `ordered` and each active webhook subscribed to its type. A test event
 * goes only to the webhook under test.
 */
const fanOut = sql`
  insert into ${deliveries} (webhook_id, evento, oggetto)
  select w.id, o.posizione, o.oggetto from ordered o
    join ${webhooks} w on w.stato = 'attivo' and case
      when o.tipo = 'webhook.prova' then o.oggetto = 'webhook:' || w.id
      else w.tipi = '{}' or o.tipo = any(w.tipi)
    end
  order by o.posizione, w.id`

/** Events that one transaction orders or deletes. */
const BATCH = 1000
const KEPT = sql`now() - interval '30 days'`
/** Greater than every position. */
const BEYOND = 2 ** 31

/**
 * Assigns positions to the events of committed transactions, and queues their webhook deliveries. Sequence numbers are
 * assigned at write time, not in commit order, so a reader could miss an event that commits late. Therefore one process
 * at a time, under a lock, assigns the position after the commit. (Transaction ids of PostgreSQL would not do: they
 * start again in a database that is restored elsewhere.)
 * @param batches how many batches of 1,000 events, the oldest first
 */
export async function orderEvents (db: Database, batches = Infinity): Promise<void> {
  for (let turn = 0; turn < batches && await anyArriving(db); turn++) await db.transaction(moveOn)
}

async function anyArriving (db: Database): Promise<boolean> {
  const [row] = await db.select({ numero: arriving.numero }).from(arriving).limit(1)
  return row !== undefined
}

async function moveOn (tx: Transaction): Promise<void> {
  // A separate statement, so that the next one sees what was committed while this one waited for the lock.
  await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.eventOrder})`)
  // A rolled-back transaction leaves a gap in the sequence. Reset it, so that positions have no gaps and start at 1.
  await tx.execute(sql`
    select setval(pg_get_serial_sequence('eventi', 'posizione'), coalesce(max(posizione), 1), count(*) > 0)
      from (select posizione from ${eventi} order by posizione desc limit 1) as last`)
  // Prevents that a webhook is deleted or suspended during the next statement.
  await tx.execute(sql`select from ${webhooks} order by id for share`)
  // Row locks serialise transactions that change the same object, so `numero` has the order of their events.
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
 * Deletes events older than 30 days, except the last of them, which keeps its cursor valid. Events with a queued
 * delivery stay, and so do all events after them. Events are deleted in order: in a list with gaps the server could not
 * detect that a reader missed one. (The event of a long transaction gets its position late, among newer events.)
 */
export async function forgetOldEvents (db: Database): Promise<void> {
  while (await db.transaction(forgetSome) === BATCH);
}

/** Deletes the next batch of old events, the oldest first. @returns how many were deleted */
async function forgetSome (tx: Transaction): Promise<number> {
  // Repeating a delivery locks its webhook first. Either it commits before the next statement, which then sees it, or
  // it waits for the end of this transaction.
  await tx.execute(sql`select from ${webhooks} order by id for share`)
  // No `skip locked`: later events must not be deleted before an earlier one that another transaction has locked.
  const { count } = await tx.execute(sql`
    delete from ${eventi} where posizione in (
      select posizione from ${eventi} where posizione < (
        select max(posizione) from ${eventi} where posizione < coalesce(least(
          (select min(posizione) from ${eventi} where quando >= ${KEPT}),
          (select min(evento) from ${deliveries} where stato = 'in_coda')), ${BEYOND}::bigint))
      order by posizione limit ${BATCH})`)
  return count
}

/** Minimum pause between two queries, so that many changes cost one query. */
const PAUSE_MS = 100
/**
 * Polling interval while there are followers. When several transactions write events at once, only one of them
 * notifies. The others may commit later.
 */
const LOOK_MS = 1000
/** Limits how long a request waits during a large import. */
const BATCHES_OF_A_REQUEST = 5

interface FeedOptions {
  db: Database
  notifications: Notifications
  log: Pick<FastifyBaseLogger, 'error'>
  /** Whether the error is a full disk, which is logged elsewhere. */
  isReported: (err: unknown) => boolean
}

export type EventFeed = ReturnType<typeof eventFeed>

/** Notifies the followers in this process of new events. */
export function eventFeed ({ db, notifications, log, isReported }: FeedOptions) {
  const followers = new Set<() => void>()
  /** The last position that followers were notified of. Another process or a request may have assigned it. */
  let notifiedPlace: number | undefined
  const worker = queueWorker<never>({
    async claim () {
      await orderEvents(db)
      const { place } = await endOfEvents(db)
      if (place !== notifiedPlace) for (const onNews of [...followers]) onNews()
      notifiedPlace = place
      await sleep(PAUSE_MS, undefined, { ref: false })
      return undefined
    },
    carryOut: async () => true,
    onError (err) {
      if (!isReported(err)) log.error({ err }, 'events could not be ordered')
    }
  })

  const listener = notifications.subscribe({ events: look }, look)
  const timer = setInterval(look, LOOK_MS).unref()

  function look (): void {
    if (followers.size > 0) worker.wake()
  }

  return {
    /** Calls `onNews` for new events, until the returned function is called. */
    follow (onNews: () => void): () => void {
      followers.add(onNews)
      look()
      return () => { followers.delete(onNews) }
    },
    /** Resolves when the process listens for notifications. The first call starts to listen. */
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
