import type { AuthUser } from '#schemas/auth/user.ts'
import { ProviderNonRaggiungibile } from '../errors.ts'
import type { IdpClient } from './client.ts'
import type { SeenSessions, SessionRef } from './seen-sessions.ts'
import { readUser } from './users.ts'

/** Asks the provider who the bearer of a token is, with that token. */
export interface TokenLookup {
  /**
   * The bearer of a token, as of now; undefined when the provider refuses the token. A session that has ended there is
   * ended here, too.
   * @throws ProviderNonRaggiungibile
   */
  user (token: string, session: SessionRef): Promise<AuthUser | undefined>
  /** Whether the provider accepts a token. @throws ProviderNonRaggiungibile */
  isAccepted (token: string): Promise<boolean>
}

/** The codes that say that a session has ended for good. */
export const ENDED_CODES = new Set(['session_not_found', 'session_expired', 'user_not_found'])

export function tokenLookup (client: Pick<IdpClient, 'asPerson'>, seen: Pick<SeenSessions, 'end'>): TokenLookup {
  return {
    async user (token, session) {
      const { user, code } = await ask(token)
      if (ENDED_CODES.has(code)) await seen.end(session)
      return user?.id === session.userId ? user : undefined
    },
    isAccepted: async (token) => (await ask(token)).user !== undefined
  }

  async function ask (token: string) {
    const { status, body, code } = await client.asPerson(token, 'GET', '/user')
    const user = status === 200 ? readUser(body) : undefined
    // An answer that is neither a user nor a refusal proves nothing.
    const isRefusal = status === 401 || status === 403 || ENDED_CODES.has(code)
    if (user === undefined && !isRefusal) throw new ProviderNonRaggiungibile()
    return { user, code }
  }
}
