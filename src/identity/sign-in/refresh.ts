import { eq } from 'drizzle-orm'
import { sessions } from '#drizzle/tables/identity.ts'
import type { Database, Transaction } from '#src/database/connect.ts'
import { AuthError } from '../errors.ts'
import { getUser, isBanned } from '../people/find-users.ts'
import { classifyRefresh, decodeRefreshToken } from '../tokens/refresh-token.ts'
import { DAY_MS, IDLE_MS, type Client, type SessionRow, type SignedIn } from './sessions.ts'

/**
 * Exchanges a refresh token for the next one. A token that was exchanged before gives the current one again when the
 * client can have lost the answer. An older token is a copy in other hands, as is one that gives the current one again
 * and again: either ends the session. One from before a proof of a second factor is void, and ends nothing.
 * @param onReuse writes that to the audit log, in the same transaction
 * @throws AuthError refresh_token_not_found, refresh_token_already_used, session_expired, user_banned
 */
export async function refreshSession (
  db: Database,
  refreshSecret: Buffer,
  text: string,
  client: Client,
  onReuse: (tx: Transaction, session: SessionRow) => Promise<void>
): Promise<SignedIn> {
  const token = decodeRefreshToken(refreshSecret, text)
  if (token === undefined) throw new AuthError('refresh_token_not_found')
  const result = await db.transaction(async (tx): Promise<SignedIn | AuthError> => {
    // Of many requests at once the lock makes one the first. The others then find that the token was exchanged.
    const [session] = await tx.select().from(sessions).where(eq(sessions.id, token.sessionId)).for('update')
    if (!session) return new AuthError('refresh_token_not_found')
    const now = new Date()
    const lastRefreshMs = session.refreshed_at?.getTime() ?? session.created_at.getTime()
    if (session.not_after <= now || lastRefreshMs + IDLE_MS <= now.getTime()) return new AuthError('session_expired')
    const user = await getUser(tx, session.user_id)
    if (isBanned(user.banned_until)) return new AuthError('user_banned', { status: 400 })
    // Days of the session's own.
    const repeats_day = Math.floor((now.getTime() - session.created_at.getTime()) / DAY_MS)
    const repeats = session.repeats_day === repeats_day ? session.repeats : 0
    const use = classifyRefresh({
      tokenCounter: token.counter,
      sessionCounter: session.refresh_counter,
      lastRefreshMs,
      nowMs: now.getTime(),
      repeats
    })
    if (use === 'invalid' || use === 'void') return new AuthError('refresh_token_not_found')
    if (use === 'reused') {
      await tx.delete(sessions).where(eq(sessions.id, session.id))
      await onReuse(tx, session)
      return new AuthError('refresh_token_already_used')
    }
    if (use === 'doubtful') {
      await tx.update(sessions).set({ repeats: repeats + 1, repeats_day }).where(eq(sessions.id, session.id))
    }
    if (use !== 'rotate') return { user, session }
    const [refreshed] = await tx
      .update(sessions)
      .set({ refresh_counter: session.refresh_counter + 1, refreshed_at: now, updated_at: now, ...client })
      .where(eq(sessions.id, session.id))
      .returning()
    return { user, session: refreshed! }
  })
  // Thrown after the commit: the session must stay ended.
  if (result instanceof AuthError) throw result
  return result
}
