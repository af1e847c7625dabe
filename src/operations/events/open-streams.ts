import type { FastifyRequest } from 'fastify'
import { limitedSignal, type LimitedSignal } from '#src/lib/limited-signal.ts'
import type { Principal } from '#src/plugins/auth.ts'
import type { Changes } from '#src/plugins/changes.ts'

/** A client comes again by itself, with the last event that it has seen: what changed meanwhile holds from then on. */
const LONGEST_MS = 15 * 60_000

export interface OpenStreams {
  /**
   * Aborted when what let the caller in is not good any more, or may not be: the session, the key or the person has
   * changed, the access token has run out, the settings have changed, or 15 minutes are over;
   * or one of the others is.
   */
  signalFor (request: FastifyRequest, others: readonly AbortSignal[]): { signal: AbortSignal, forget: () => void }
}

/** The streams that are open, and whose they are. */
export function openStreams (changes: Changes): OpenStreams {
  const open = new Map<LimitedSignal, Principal>()

  function endIf (isConcerned: (principal: Principal) => boolean): void {
    for (const [limited, principal] of open) if (isConcerned(principal)) limited.abort()
  }

  const all = () => endIf(() => true)
  changes.subscribe({
    user: (id) => endIf(({ userId }) => userId === id),
    session: (id) => endIf(({ sessionId }) => sessionId === id),
    key: (id) => endIf(({ keyId }) => keyId === id),
    settings: all
  }, all)

  return {
    signalFor (request, others) {
      const limited = limitedSignal(others, Math.max(0, Math.min(LONGEST_MS, expiryOf(request) - Date.now())))
      open.set(limited, request.principal!)
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

/** When the access token of a request runs out, milliseconds since the epoch. It was verified before. */
function expiryOf ({ headers: { authorization } }: FastifyRequest): number {
  const claims = authorization?.split('.')[1]
  if (claims === undefined) return Infinity
  try {
    const { exp } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { exp?: unknown }
    return typeof exp === 'number' ? exp * 1000 : Infinity
  } catch {
    return Infinity
  }
}
