import type { FastifyRequest } from 'fastify'
import type { Principal } from '#src/plugins/auth.ts'
import type { Changes } from '#src/plugins/changes.ts'

/** A client comes again by itself, with the last event that it has seen: what changed meanwhile holds from then on. */
const LONGEST_MS = 15 * 60_000

export interface OpenStreams {
  /**
   * Aborted when what let the caller in is not good any more, or may not be: the session, the key or the person has
   * changed, the access token has run out, the settings have changed, or 15 minutes are over.
   */
  signalFor (request: FastifyRequest): { signal: AbortSignal, forget: () => void }
}

/** The streams that are open, and whose they are. */
export function openStreams (changes: Changes): OpenStreams {
  const open = new Map<AbortController, Principal>()

  function endIf (isConcerned: (principal: Principal) => boolean): void {
    for (const [controller, principal] of open) if (isConcerned(principal)) controller.abort()
  }

  const all = () => endIf(() => true)
  changes.subscribe({
    user: (id) => endIf(({ userId }) => userId === id),
    session: (id) => endIf(({ sessionId }) => sessionId === id),
    key: (id) => endIf(({ keyId }) => keyId === id),
    settings: all
  }, all)

  return {
    signalFor (request) {
      const controller = new AbortController()
      open.set(controller, request.principal!)
      const limit = AbortSignal.timeout(Math.max(0, Math.min(LONGEST_MS, expiryOf(request) - Date.now())))
      return { signal: AbortSignal.any([controller.signal, limit]), forget: () => { open.delete(controller) } }
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
