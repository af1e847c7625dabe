import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { Changes } from '#src/plugins/changes.ts'
import type { Database } from '#src/plugins/database/connect.ts'
import { sharedReads, type SharedReads } from './shared-reads.ts'
import { orderEvents } from './order.ts'

/** Between two looks at the database, so that many changes cost one look. */
const PAUSE_MS = 100
/**
 * Looks after a notice. Of transactions that commit at once one gives notice; the others have committed by then, or
 * soon after.
 */
const AGAIN_MS = [250, 1000, 5000]

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
}

export function eventFeed ({ db, changes, log, isTold }: FeedOptions): EventFeed {
  const followers = new Set<() => void>()
  const reads = sharedReads(db)
  const end = new AbortController()
  let wanted = false
  let underWay: Promise<void> | undefined
  let again: NodeJS.Timeout | undefined

  const listener = changes.subscribe({ events: onNotice }, onNotice)

  function onNotice (): void {
    look()
    lookAgain(0)
  }

  function lookAgain (turn: number): void {
    clearTimeout(again)
    if (turn === AGAIN_MS.length || followers.size === 0) return
    again = setTimeout(() => {
      look()
      lookAgain(turn + 1)
    }, AGAIN_MS[turn]).unref()
  }

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
        reads.renew()
        for (const onNews of [...followers]) onNews()
        await sleep(PAUSE_MS, undefined, { signal: end.signal, ref: false }).catch(() => {})
      }
    } catch (err) {
      if (!isTold(err)) log.error({ err }, 'events could not be put in order')
    } finally {
      underWay = undefined
    }
  }

  return {
    follow (onNews) {
      followers.add(onNews)
      look()
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
