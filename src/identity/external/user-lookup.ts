import { LRUCache } from 'lru-cache'
import type { AuthUser } from '#schemas/auth/user.ts'
import { ProviderNonRaggiungibile } from '../errors.ts'
import type { IdpClient } from './idp-client.ts'
import { isBannedOrDeleted, readUser } from './read-users.ts'
import type { SeenSessions, SessionRef } from './seen-sessions.ts'

const RECENT_MS = 60_000
const MAX_ENTRIES = 2000

export type UserLookup = ReturnType<typeof userLookup>

/**
 * Looks users up at the provider with the service key. Banned and deleted users are not found.
 * @param clock a monotonic clock, ms
 */
export function userLookup (
  { client, serviceKey, clock = () => performance.now() }:
  { client: Pick<IdpClient, 'asService'>, serviceKey: string, clock?: () => number }
) {
  /** The last lookup by user id. Callers share it for a minute. Failed lookups are dropped. */
  const asked = new LRUCache<string, { at: number, response: Promise<AuthUser | undefined> }>({ max: MAX_ENTRIES })

  return {
    /** Returns data at most a minute old. @throws ProviderNonRaggiungibile */
    async recent (userId: string): Promise<AuthUser | undefined> {
      const known = asked.get(userId)
      const isRecent = known !== undefined && clock() - known.at < RECENT_MS
      return unlessBannedOrDeleted(await (isRecent ? known.response : ask(userId)))
    },
    /** Returns current data, not cached. @throws ProviderNonRaggiungibile */
    now: async (userId: string) => unlessBannedOrDeleted(await ask(userId))
  }

  function ask (userId: string): Promise<AuthUser | undefined> {
    const question = { at: clock(), response: find(userId) }
    asked.set(userId, question)
    question.response.catch(() => { if (asked.peek(userId) === question) asked.delete(userId) })
    return question.response
  }

  async function find (userId: string): Promise<AuthUser | undefined> {
    const { status, body } = await client.asService(serviceKey, 'GET', `/admin/users/${userId}`)
    if (status === 404) return undefined
    const user = status === 200 ? readUser(body) : undefined
    if (user === undefined || user.id !== userId) throw new ProviderNonRaggiungibile()
    return user
  }
}

/** Checked at every call, because a ban can expire while the user is cached. */
function unlessBannedOrDeleted (user: AuthUser | undefined): AuthUser | undefined {
  return user === undefined || isBannedOrDeleted(user) ? undefined : user
}

/** Error codes for a session that has ended permanently. */
export const ENDED_CODES = new Set(['session_not_found', 'session_expired', 'user_not_found'])

export type TokenLookup = ReturnType<typeof tokenLookup>

/** Asks the provider for the owner of a token, with that token as credential. */
export function tokenLookup (client: Pick<IdpClient, 'asPerson'>, seen: Pick<SeenSessions, 'end'>) {
  return {
    /**
     * Undefined when the provider rejects the token, or another person owns it. If the session has ended at the
     * provider, it is also ended here.
     * @throws ProviderNonRaggiungibile
     */
    async user (token: string, session: SessionRef): Promise<AuthUser | undefined> {
      const { user, code } = await ask(token)
      if (ENDED_CODES.has(code)) await seen.end(session)
      return user?.id === session.userId ? user : undefined
    },
    /** @throws ProviderNonRaggiungibile */
    isAccepted: async (token: string) => (await ask(token)).user !== undefined
  }

  async function ask (token: string) {
    const { status, body, code } = await client.asPerson(token, 'GET', '/user')
    const user = status === 200 ? readUser(body) : undefined
    // A response that is neither a user nor a refusal does not show whether the session has ended.
    const isRefusal = status === 401 || status === 403 || ENDED_CODES.has(code)
    if (user === undefined && !isRefusal) throw new ProviderNonRaggiungibile()
    return { user, code }
  }
}
