import { Readable } from 'node:stream'
import type { Database } from '#src/plugins/database/connect.ts'
import { createBell } from './bell.ts'
import type { EventFeed } from './feed.ts'
import { readEvents, type EventFilters, type Placed } from './list.ts'

/** Events read at a time. */
const BATCH = 100
/** Milliseconds after which a client that has lost the connection comes again. */
const RETRY_MS = 3000

export interface StreamOptions {
  db: Database
  feed: EventFeed
  filters: EventFilters
  /** Where it begins, and the cursor of the event there, if there is one. */
  from: { place: number, cursor: string | undefined }
  /** Ends it. */
  signal: AbortSignal
  /** Milliseconds of silence after which a comment shows that the connection lives. */
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
  let { place } = from
  const bell = createBell()
  const leave = feed.follow(bell.ring)
  signal.addEventListener('abort', bell.ring, { once: true })
  try {
    // An id without data makes no event: a client that loses the connection before the first one begins here again.
    yield `retry: ${RETRY_MS}\n${from.cursor === undefined ? '' : `id: ${from.cursor}\n`}\n`
    while (!signal.aborted) {
      const found = await readEvents(db, filters, place, BATCH)
      if (found.length > 0) {
        place = found.at(-1)!.posizione
        yield found.map(frame).join('')
      } else if (!await bell.wait(heartbeatMs)) yield ':\n\n'
    }
  } finally {
    leave()
    signal.removeEventListener('abort', bell.ring)
  }
}

function frame ({ event }: Placed): string {
  return `id: ${event.cursor}\nevent: ${event.tipo}\ndata: ${JSON.stringify(event)}\n\n`
}
