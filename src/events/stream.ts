import { Readable } from 'node:stream'
import type { Event } from '#schemas/event.ts'
import type { Database } from '#src/database/connect.ts'
import { within } from '#src/lib/within.ts'
import { CursoreScaduto } from './errors.ts'
import { readEvents, type EventFilters, type Reached } from './event-list.ts'
import type { EventFeed } from './feed.ts'

/** Events read at a time. */
const BATCH = 100
/** Milliseconds after which a client that has lost the connection comes again. */
const RETRY_MS = 3000

export interface StreamOptions {
  db: Database
  feed: EventFeed
  filters: EventFilters
  /** Where it begins. */
  from: Reached
  /** Ends it. */
  signal: AbortSignal
  /** Milliseconds of silence after which a sign shows that the connection lives. */
  heartbeatMs: number
}

/**
 * Events as they happen, in the format of server-sent events
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 * They are read when the client has read those before, so that a slow client costs no memory.
 */
export function eventStream (options: StreamOptions): Readable {
  return Readable.from(frames(options), { objectMode: false })
}

async function * frames ({ db, feed, filters, from, signal, heartbeatMs }: StreamOptions): AsyncGenerator<string> {
  let { place, cursor: told } = from
  let silentSince = performance.now()
  let news = Promise.withResolvers<void>()
  const ring = () => news.resolve()
  const leave = feed.follow(ring)
  signal.addEventListener('abort', ring, { once: true })
  try {
    // An id without data makes no event: a client that loses the connection before the first one begins here again.
    yield `retry: ${RETRY_MS}\nid: ${from.cursor}\n\n`
    while (!signal.aborted) {
      // Before the events are read: news that come meanwhile are not missed.
      news = Promise.withResolvers<void>()
      const { events, reached } = await readEvents(db, filters, place, BATCH)
      place = reached.place
      if (events.length > 0) {
        yield events.map(frame).join('')
        told = events.at(-1)!.cursor
      } else {
        // News that this reader does not want ring, too: they do not put off the sign of life.
        const restMs = silentSince + heartbeatMs - performance.now()
        if (restMs > 0) {
          await within(restMs, news.promise)
          continue
        }
        yield signOfLife(told, reached.cursor)
        told = reached.cursor
      }
      silentSince = performance.now()
    }
  } catch (err) {
    // The client was too slow, and what it has read last is forgotten: it is told so when it comes again.
    if (!(err instanceof CursoreScaduto)) throw err
  } finally {
    leave()
    signal.removeEventListener('abort', ring)
  }
}

function frame (event: Event): string {
  return `id: ${event.cursor}\nevent: ${event.tipo}\ndata: ${JSON.stringify(event)}\n\n`
}

/** A comment, or behind events that the client does not want an id without data: it begins there if it comes again. */
function signOfLife (told: string, reached: string): string {
  return reached === told ? ':\n\n' : `id: ${reached}\n\n`
}
