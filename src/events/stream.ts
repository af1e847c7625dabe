import { Readable } from 'node:stream'
import { CursoreScaduto } from './errors.ts'
import type { EventFeed } from './feed.ts'
import type { EventFilters } from './list.ts'
import type { Reached } from './position.ts'

/** Wakes one who waits; a ring while nobody waits is kept. */
interface Bell {
  ring (): void
  /** Whether it rings, or has rung, within so many milliseconds. */
  wait (ms: number): Promise<boolean>
}

function createBell (): Bell {
  let isRung = false
  let wake = () => {}
  return {
    ring () {
      isRung = true
      wake()
    },
    async wait (ms) {
      if (!isRung) {
        const { promise, resolve } = Promise.withResolvers<void>()
        const timer = setTimeout(resolve, ms)
        wake = resolve
        await promise
        clearTimeout(timer)
      }
      const heard = isRung
      isRung = false
      return heard
    }
  }
}

/** Milliseconds after which a client that has lost the connection comes again. */
const RETRY_MS = 3000

export interface StreamOptions {
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

async function * frames ({ feed, filters, from, signal, heartbeatMs }: StreamOptions): AsyncGenerator<string> {
  let { place, cursor: told } = from
  let silentSince = performance.now()
  const bell = createBell()
  const leave = feed.follow(bell.ring)
  signal.addEventListener('abort', bell.ring, { once: true })
  try {
    // An id without data makes no event: a client that loses the connection before the first one begins here again.
    yield `retry: ${RETRY_MS}\nid: ${from.cursor}\n\n`
    while (!signal.aborted) {
      const found = await feed.read(filters, place)
      place = found.reached.place
      if (found.frames !== '') {
        yield found.frames
        told = found.last ?? told
      } else {
        // News that this reader does not want ring, too: they do not put off the sign of life.
        const restMs = silentSince + heartbeatMs - performance.now()
        if (restMs > 0 && await bell.wait(restMs)) continue
        yield signOfLife(told, found.reached.cursor)
        told = found.reached.cursor
      }
      silentSince = performance.now()
    }
  } catch (err) {
    // The client was too slow, and what it has read last is forgotten: it is told so when it comes again.
    if (!(err instanceof CursoreScaduto)) throw err
  } finally {
    leave()
    signal.removeEventListener('abort', bell.ring)
  }
}

/** A comment, or behind events that the client does not want an id without data: it begins there if it comes again. */
function signOfLife (told: string, reached: string): string {
  return reached === told ? ':\n\n' : `id: ${reached}\n\n`
}
