import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { Changes } from '#src/database/changes.ts'
import type { Database } from '#src/database/connect.ts'
import { sharedReads, type SharedReads } from './shared-reads.ts'
import { endOfEvents } from './list.ts'
import { orderEvents } from './order.ts'

/** Between two looks at the database, so that many changes cost one look. */
const PAUSE_MS = 100
/**
 * Looks after a notice. Of transactions that commit at once one gives notice; the others have committed by then, or
 * soon after.
 */
const AGAIN_MS = [250, 1000]
/**
 * Between further looks. One of many transactions gives notice of all, at its end: while it stays open there is none,
 * and none of those that stay open for longer than it.
 */
const LOOK_MS = 5000

/** A request waits for so much of the work, and not for all of a large import. */
const BATCHES_OF_A_REQUEST = 5

/** Tells those in this process who follow the events that there may be new ones. */
export interface EventFeed {
  /** Calls `onNews` from now on; returns what ends that. */
  follow (onNews: () => void): () => void
  /** Whether the process hears of changes; it does from the first call on. */
  ready (): Promise<boolean>
  /** Puts in order what has been committed so far; of a large import a part, unless all is asked for. */
  order (batches?: number): Promise<void>
  /** The next events, for a follower who has been told of news. */
  read: SharedReads['read']
  /** Looks for new events, if anybody follows them. */
  look (): void
  /** Ends it, and waits for the look under way. */
  close (): Promise<void>
}

export interface FeedOptions {
  db: Database
  changes: Changes
  log: Pick<FastifyBaseLogger, 'error'>
  /** Whether an error comes of a full disk: then the log says so already. */
  isTold: (err: unknown) => boolean
  /** Milliseconds between looks without a notice. */
  lookMs?: number | undefined
}

export function eventFeed ({ db, changes, log, isTold, lookMs = LOOK_MS }: FeedOptions): EventFeed {
  const followers = new Set<() => void>()
  const reads = sharedReads(db)
  const end = new AbortController()
  let wanted = false
  /** Whether followers are told even if there is nothing that they have not been told of. */
  let isNews = false
  /** The last place that followers were told of. Another process, or a request, may have given it. */
  let told: number | undefined
  let isFailing = false
  let underWay: Promise<void> | undefined
  let again: NodeJS.Timeout | undefined

  const listener = changes.subscribe({ events: onNotice }, onNotice)

  function onNotice (): void {
    look()
    lookAgain(0)
  }

  function lookAgain (turn: number): void {
    clearTimeout(again)
    if (followers.size === 0 || end.signal.aborted) return
    again = setTimeout(() => {
      if (turn < AGAIN_MS.length) look()
      else lookQuietly()
      lookAgain(turn + 1)
    }, AGAIN_MS[turn] ?? lookMs).unref()
  }

  function look (): void {
    isNews = true
    lookQuietly()
  }

  /** Who follows is told only if there is something: in silence streams show that they live. */
  function lookQuietly (): void {
    if (followers.size === 0 || end.signal.aborted) return
    wanted = true
    underWay ??= work()
  }

  async function work (): Promise<void> {
    try {
      while (wanted && !end.signal.aborted) {
        wanted = false
        const isHeard = isNews
        isNews = false
        await orderEvents(db)
        const last = (await endOfEvents(db)).place
        if (last !== told || isHeard) {
          told = last
          reads.renew()
          for (const onNews of [...followers]) onNews()
        }
        isFailing = false
        await sleep(PAUSE_MS, undefined, { signal: end.signal, ref: false }).catch(() => {})
      }
    } catch (err) {
      if (!isFailing && !isTold(err)) log.error({ err }, 'events could not be put in order')
      isFailing = true
      isNews = true
    } finally {
      underWay = undefined
    }
  }

  return {
    follow (onNews) {
      followers.add(onNews)
      look()
      if (followers.size === 1) lookAgain(AGAIN_MS.length)
      return () => { followers.delete(onNews) }
    },
    ready: () => listener.ready(),
    read: reads.read,
    order: (batches = BATCHES_OF_A_REQUEST) => orderEvents(db, batches),
    look,
    async close () {
      end.abort()
      clearTimeout(again)
      await underWay
    }
  }
}
