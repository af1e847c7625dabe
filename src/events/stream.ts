import type { FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import type { Event } from '#schemas/event.ts'
import { limitedSignal, type LimitedSignal } from '#src/lib/limited-signal.ts'
import { within } from '#src/lib/within.ts'
import type { Changes } from '#src/database/changes.ts'
import type { Database } from '#src/database/connect.ts'
import type { Principal } from '#src/http/auth.ts'
import { CursoreScaduto } from './errors.ts'
import { readEvents, type EventFilters, type Reached } from './event-list.ts'
import type { EventFeed } from './feed.ts'

/** Events read at a time. */
const BATCH = 100
/** Milliseconds after which a client that has lost the connection comes again. */
const RETRY_MS = 3000

interface StreamOptions {
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
export async function * frames (
  { db, feed, filters, from, signal, heartbeatMs }: StreamOptions
): AsyncGenerator<string> {
  let { place } = from
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
      } else {
        // News that this reader does not want ring, too: they do not put off the sign of life.
        const restMs = silentSince + heartbeatMs - performance.now()
        if (restMs > 0) {
          await within(restMs, news.promise)
          continue
        }
        // A sign of life, which makes no event: a client that loses the connection begins behind what it does not want.
        yield `id: ${reached.cursor}\n\n`
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

/** A client comes again by itself, with the last event that it has seen: what changed meanwhile holds from then on. */
const LONGEST_MS = 15 * 60_000
/** So many changes are remembered, for longer than a stream takes to be opened. */
const HEARD = { max: 5000, ttl: 60_000 }
const EVERYBODY = 'everybody'

/** The changes after which a caller may not be let in any more. */
function concerns ({ userId, sessionId, keyId }: Principal): string[] {
  return [EVERYBODY, `user:${userId}`, `session:${sessionId}`, `key:${keyId}`]
}

/** The streams that are open, and whose they are. */
export function openStreams (changes: Changes) {
  const open = new Map<LimitedSignal, Principal>()
  /** When a change was heard, as `performance.now()` says it. */
  const heard = new LRUCache<string, number>(HEARD)

  function endThose (change: string): void {
    heard.set(change, performance.now())
    for (const [limited, principal] of open) if (concerns(principal).includes(change)) limited.abort()
  }

  /** The first time hearing begins: credentials are looked at after that. */
  let isHearing = false
  function endAll (): void {
    if (isHearing) endThose(EVERYBODY)
    isHearing = true
  }

  changes.subscribe({
    user: (id) => endThose(`user:${id}`),
    session: (id) => endThose(`session:${id}`),
    key: (id) => endThose(`key:${id}`),
    signing: () => endThose(EVERYBODY),
    settings: () => endThose(EVERYBODY)
  }, endAll)

  return {
    /**
     * Aborted when what let the caller in is not good any more, or may not be: the session, the key or the person has
     * changed since the request came, the credential has run out, keys that sign tokens or the settings have changed,
     * or 15 minutes are over; or one of the others is.
     */
    signalFor (request: FastifyRequest, reply: FastifyReply, others: readonly AbortSignal[]) {
      const principal = request.principal!
      const { goodUntil = Infinity } = principal
      const limited = limitedSignal(others, Math.max(0, Math.min(LONGEST_MS, goodUntil - Date.now())))
      open.set(limited, principal)
      // The credentials were looked at before: a change that came between was told to nobody who was open then.
      const begun = performance.now() - reply.elapsedTime
      if (concerns(principal).some((change) => (heard.get(change) ?? -1) >= begun)) limited.abort()
      return {
        signal: limited.signal,
        forget () {
          open.delete(limited)
          limited.end()
        }
      }
    }
  }
}
