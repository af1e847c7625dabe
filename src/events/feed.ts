import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { Changes } from '#src/database/changes.ts'
import type { Database } from '#src/database/connect.ts'
import { endOfEvents } from './event-list.ts'
import { orderEvents } from './event-order.ts'

/** Between two looks at the database, so that many changes cost one look. */
const PAUSE_MS = 100
/**
 * Between looks without a notice, while anybody follows. Of transactions that commit at once one gives notice; the
 * others may commit after that look, or stay open for long.
 */
const LOOK_MS = 1000
/** A request waits for so much of the work, and not for all of a large import. */
const BATCHES_OF_A_REQUEST = 5

export interface FeedOptions {
  db: Database
  changes: Changes
  log: Pick<FastifyBaseLogger, 'error'>
  /** Whether an error comes of a full disk: then the log says so already. */
  isTold: (err: unknown) => boolean
  lookMs?: number | undefined
}

export type EventFeed = ReturnType<typeof eventFeed>

/** Tells those in this process who follow the events that there are new ones. */
export function eventFeed ({ db, changes, log, isTold, lookMs = LOOK_MS }: FeedOptions) {
  const followers = new Set<() => void>()
  const end = new AbortController()
  let wanted = false
  /** The last place that followers were told of. Another process, or a request, may have given it. */
  let told: number | undefined
  let isFailing = false
  let underWay: Promise<void> | undefined

  const listener = changes.subscribe({ events: look }, look)
  const timer = setInterval(look, lookMs).unref()

  function look (): void {
    if (followers.size === 0 || end.signal.aborted) return
    wanted = true
    underWay ??= work()
  }

  async function work (): Promise<void> {
    try {
      while (wanted && !end.signal.aborted) {
        wanted = false
        await orderEvents(db)
        const { place } = await endOfEvents(db)
        if (place !== told) for (const onNews of [...followers]) onNews()
        told = place
        isFailing = false
        await sleep(PAUSE_MS, undefined, { signal: end.signal, ref: false }).catch(() => {})
      }
    } catch (err) {
      if (!isFailing && !isTold(err)) log.error({ err }, 'events could not be put in order')
      isFailing = true
    } finally {
      underWay = undefined
    }
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
      end.abort()
      clearInterval(timer)
      await underWay
    }
  }
}
