import type { FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { limitedSignal, type LimitedSignal } from '#src/lib/limited-signal.ts'
import type { Principal } from '#src/http/auth.ts'
import type { Changes } from '#src/database/changes.ts'

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
