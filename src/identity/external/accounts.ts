import type { AuthUser } from '#schemas/auth/user.ts'
import { ProviderNonRaggiungibile } from '../errors.ts'
import type { Verified } from '../tokens/bearer.ts'
import type { ProviderClient } from './client.ts'
import type { SeenSessions } from './seen-sessions.ts'
import { readUser } from './users.ts'

/** What the provider says to persons of themselves. */
export interface Accounts {
  /**
   * Who bears a token, as of now; undefined when the provider does not let them in. A session that is over there is
   * over here, too.
   * @throws ProviderNonRaggiungibile
   */
  own (token: string, session: Pick<Verified, 'userId' | 'sessionId'>): Promise<AuthUser | undefined>
  /** Whether the provider lets the bearer of a token in. @throws ProviderNonRaggiungibile */
  isAlive (token: string): Promise<boolean>
}

/** Codes by which a session is over for good. */
export const GONE = new Set(['session_not_found', 'session_expired', 'user_not_found'])

export function createAccounts (client: Pick<ProviderClient, 'asPerson'>, seen: Pick<SeenSessions, 'end'>): Accounts {
  return {
    async own (token, session) {
      const { user, code } = await ask(token)
      if (GONE.has(code)) await seen.end(session)
      return user?.id === session.userId ? user : undefined
    },
    isAlive: async (token) => (await ask(token)).user !== undefined
  }

  async function ask (token: string) {
    const { status, body, code } = await client.asPerson(token, 'GET', '/user')
    const user = status === 200 ? readUser(body) : undefined
    // What is neither a user nor a refusal says nothing about anybody.
    if (user === undefined && status !== 401 && status !== 403 && !GONE.has(code)) throw new ProviderNonRaggiungibile()
    return { user, code }
  }
}
