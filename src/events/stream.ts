import type { FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import type { Event } from '#schemas/event.ts'
import { limitedSignal, type LimitedSignal } from '#src/lib/limited-signal.ts'
import { waitAtMost } from '#src/lib/wait-at-most.ts'
import type { Notifications } from '#src/database/notifications.ts'
import type { Database } from '#src/database/connect.ts'
import type { Principal } from '#src/http/auth.ts'
import { CursoreScaduto } from './errors.ts'
import { readEvents, type EventFilters, type Reached } from './event-list.ts'
import type { EventFeed } from './feed.ts'

/** Events per query. */
const BATCH = 100
/** Milliseconds after which a disconnected client reconnects. */
const RETRY_MS = 3000

interface StreamOptions {
  db: Database
  feed: EventFeed
  filters: EventFilters
  /** The position after which the stream begins. */
  from: Reached
  /** Ends the stream. */
  signal: AbortSignal
  /** Milliseconds of silence before a heartbeat. */
  heartbeatMs: number
}

/**
 * Yields new events as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 * It queries the next batch only when the client has read the last one, so a slow client takes little memory.
 */
export async function * frames (
  { db, feed, filters, from, signal, heartbeatMs }: StreamOptions
): AsyncGenerator<string> {
  let { position } = from
  let silentSince = performance.now()
  let news = Promise.withResolvers<void>()
  const notify = () => news.resolve()
  const leave = feed.follow(notify)
  signal.addEventListener('abort', notify, { once: true })
  try {
    // An id without data triggers no event in the client. But if the client disconnects before the first event, it
    // resumes from this id.
    yield `retry: ${RETRY_MS}\nid: ${from.cursor}\n\n`
    while (!signal.aborted) {
      // Reset before the query, so that no notification during the query is missed.
      news = Promise.withResolvers<void>()
      const { events, reached } = await readEvents(db, filters, position, BATCH)
      position = reached.position
      if (events.length > 0) {
        yield events.map(frame).join('')
      } else {
        // Excluded events also wake this loop. They must not postpone the heartbeat.
        const restMs = silentSince + heartbeatMs - performance.now()
        if (restMs > 0) {
          await waitAtMost(restMs, news.promise)
          continue
        }
        // The heartbeat is an id without data. So a client that reconnects skips the events excluded so far.
        yield `id: ${reached.cursor}\n\n`
      }
      silentSince = performance.now()
    }
  } catch (err) {
    // The client was too slow, so its cursor has expired. It gets a 410 when it reconnects.
    if (!(err instanceof CursoreScaduto)) throw err
  } finally {
    leave()
    signal.removeEventListener('abort', notify)
  }
}

function frame (event: Event): string {
  return `id: ${event.cursor}\nevent: ${event.tipo}\ndata: ${JSON.stringify(event)}\n\n`
}

/** Maximum duration of a stream. The client reconnects by itself, and is authenticated again. */
const MAX_DURATION_MS = 15 * 60_000
/** Number and lifetime of remembered notifications. The lifetime is longer than the opening of any stream. */
const HEARD = { max: 5000, ttl: 60_000 }
const EVERYBODY = 'everybody'

/** Notifications that may mean that a principal has lost access. */
function concerns ({ userId, sessionId, keyId }: Principal): string[] {
  return [EVERYBODY, `user:${userId}`, `session:${sessionId}`, `key:${keyId}`]
}

/** The open streams. A stream ends when a notification concerns its principal. */
export function openStreams (notifications: Notifications) {
  const open = new Map<LimitedSignal, Principal>()
  /** The time when a notification arrived (`performance.now()`). */
  const heard = new LRUCache<string, number>(HEARD)

  function endConcerned (change: string): void {
    heard.set(change, performance.now())
    for (const [limited, principal] of open) if (concerns(principal).includes(change)) limited.abort()
  }

  /** Whether LISTEN has begun. No notification is missed before, because credentials are checked afterwards. */
  let isListening = false
  function endAll (): void {
    if (isListening) endConcerned(EVERYBODY)
    isListening = true
  }

  notifications.subscribe({
    user: (id) => endConcerned(`user:${id}`),
    session: (id) => endConcerned(`session:${id}`),
    key: (id) => endConcerned(`key:${id}`),
    signing: () => endConcerned(EVERYBODY),
    settings: () => endConcerned(EVERYBODY)
  }, endAll)

  return {
    /**
     * Returns a signal that aborts when the session, key, user, signing keys or settings have changed since the request
     * began, because the change may have revoked access. It also aborts when the credential expires, after 15 minutes,
     * or when any of `others` aborts.
     */
    signalFor (request: FastifyRequest, reply: FastifyReply, others: readonly AbortSignal[]) {
      const principal = request.principal!
      const { goodUntil = Infinity } = principal
      const limited = limitedSignal(others, Math.max(0, Math.min(MAX_DURATION_MS, goodUntil - Date.now())))
      open.set(limited, principal)
      // Also abort for notifications that arrived after the check of the credential and before this call.
      const startedAt = performance.now() - reply.elapsedTime
      if (concerns(principal).some((change) => (heard.get(change) ?? -1) >= startedAt)) limited.abort()
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
