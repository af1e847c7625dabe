import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import type { FastifyBaseLogger } from 'fastify'
import {
  eventi, eventi_in_arrivo as arriving, webhook_consegne as deliveries, webhooks
} from '#drizzle/tables/events.ts'
import type { Changes } from '#src/database/changes.ts'
import type { Database, Transaction } from '#src/database/connect.ts'
import { LOCKS } from '#src/database/locks.ts'
import { queueWorker } from '#src/services/queue/worker.ts'
import { endOfEvents } from './event-list.ts'

/**
 * The end of a statement that has `ordered` events: one delivery for each active webhook that wants each of them. A
 * test is for the webhook that is tested, whatever it wants otherwise.
 */
const fanOut = sql`
  insert into ${deliveries} (webhook_id, evento, oggetto)
  select w.id, o.posizione, o.oggetto from ordered o
    join ${webhooks} w on w.stato = 'attivo' and case
      when o.tipo = 'webhook.prova' then o.oggetto = 'webhook:' || w.id
      else w.tipi = '{}' or o.tipo = any(w.tipi)
    end
  order by o.posizione, w.id`

/** Events that one transaction moves on, or forgets. */
const BATCH = 1000
const KEPT = sql`now() - interval '30 days'`
/** After each place. */
const BEYOND = 2 ** 31

/**
 * Gives the events of committed transactions their places in the order, and writes them down for the webhooks that want
 * them. A number that a transaction takes while it writes says nothing of when its commit is seen: a reader that has
 * passed it would miss a late one. A place is given when the event is seen, by one process at a time: whoever gets the
 * lock sees every place that was given before. (The numbers of PostgreSQL's transactions would do, too, but for a
 * database that was restored elsewhere, where they begin anew.)
 * @param batches of 1,000 events, the oldest first
 */
export async function orderEvents (db: Database, batches = Infinity): Promise<void> {
  for (let turn = 0; turn < batches && await anyArriving(db); turn++) await db.transaction(moveOn)
}

async function anyArriving (db: Database): Promise<boolean> {
  const [row] = await db.select({ numero: arriving.numero }).from(arriving).limit(1)
  return row !== undefined
}

async function moveOn (tx: Transaction): Promise<void> {
  // A statement of its own: the next one sees what was committed while this one waited.
  await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.eventOrder})`)
  // A transaction that was rolled back has used numbers up: they are given again, so that the first event has place 1.
  await tx.execute(sql`
    select setval(pg_get_serial_sequence('eventi', 'posizione'), coalesce(max(posizione), 1), count(*) > 0)
      from (select posizione from ${eventi} order by posizione desc limit 1) as last`)
  // So that none goes, or is suspended, in the middle of the next statement.
  await tx.execute(sql`select from ${webhooks} order by id for share`)
  // Two transactions that change the same thing write their events one after the other: `numero` keeps their order.
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
 * Forgets events of more than 30 days ago, but the last one of these: who has read up to it has missed nothing. What
 * waits for a delivery stays. So does all that comes after something that stays, and what is forgotten goes in its
 * order: of a list with gaps no cursor could say whether something was missed. (A long transaction is given its place
 * when it ends, among events that happened later.)
 */
export async function forgetOldEvents (db: Database): Promise<void> {
  while (await db.transaction(forgetSome) === BATCH);
}

/** Deletes the next batch of old events, the oldest first. @returns how many were deleted */
async function forgetSome (tx: Transaction): Promise<number> {
  // A delivery that is asked for again locks its webhook first: either it is committed before the next statement, which
  // sees it then, or it waits until this transaction has ended.
  await tx.execute(sql`select from ${webhooks} order by id for share`)
  // If another transaction holds one of these events, this waits: later events must not be deleted before it.
  const { count } = await tx.execute(sql`
    delete from ${eventi} where posizione in (
      select posizione from ${eventi} where posizione < (
        select max(posizione) from ${eventi} where posizione < coalesce(least(
          (select min(posizione) from ${eventi} where quando >= ${KEPT}),
          (select min(evento) from ${deliveries} where stato = 'in_coda')), ${BEYOND}::bigint))
      order by posizione limit ${BATCH})`)
  return count
}

/** Between two looks at the database, so that many changes cost one look. */
const PAUSE_MS = 100
/**
 * Between looks without a notice, while anybody follows. Of transactions that commit at once one gives notice; the
 * others may commit after that look, or stay open for long.
 */
const LOOK_MS = 1000
/** A request waits for so much of the work, and not for all of a large import. */
const BATCHES_OF_A_REQUEST = 5

interface FeedOptions {
  db: Database
  changes: Changes
  log: Pick<FastifyBaseLogger, 'error'>
  /** Whether an error comes of a full disk: then the log says so already. */
  isTold: (err: unknown) => boolean
}

export type EventFeed = ReturnType<typeof eventFeed>

/** Tells those in this process who follow the events that there are new ones. */
export function eventFeed ({ db, changes, log, isTold }: FeedOptions) {
  const followers = new Set<() => void>()
  /** The last place that followers were told of. Another process, or a request, may have given it. */
  let told: number | undefined
  const worker = queueWorker<never>({
    async claim () {
      await orderEvents(db)
      const { place } = await endOfEvents(db)
      if (place !== told) for (const onNews of [...followers]) onNews()
      told = place
      await sleep(PAUSE_MS, undefined, { ref: false })
      return undefined
    },
    carryOut: async () => true,
    onError (err) {
      if (!isTold(err)) log.error({ err }, 'events could not be put in order')
    }
  })

  const listener = changes.subscribe({ events: look }, look)
  const timer = setInterval(look, LOOK_MS).unref()

  function look (): void {
    if (followers.size > 0) worker.wake()
  }

  return {
    /** Calls `onNews` from now on; returns what ends that. */
    follow (onNews: () => void): () => void {
      followers.add(onNews)
      look()
      return () => { followers.delete(onNews) }
    },
    /** Whether the process hears of changes; it does from the first call on. */
    ready: () => listener.ready(),
    /** Puts in order what has been committed so far; of a large import a part, unless all is asked for. */
    order: (batches = BATCHES_OF_A_REQUEST) => orderEvents(db, batches),
    /** Ends it, and waits for the look under way. */
    async close () {
      clearInterval(timer)
      await worker.stop()
    }
  }
}
