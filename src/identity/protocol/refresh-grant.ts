import { eq } from 'drizzle-orm'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { sessions } from '#drizzle/tables/identity.ts'
import type { GrantBody } from '#schemas/auth/requests.ts'
import type { AuthSession } from '#schemas/auth/session.ts'
import type { Database, Transaction } from '#src/database/connect.ts'
import { AuthError } from '../errors.ts'
import { getUser, isBanned } from '../people/find-users.ts'
import { clientOf, DAY_MS, IDLE_MS, type Client, type SessionRow, type SignedIn } from '../sign-in/person-sessions.ts'
import { sessionResponse } from '../sign-in/session-response.ts'
import { classifyRefresh, decodeRefreshToken } from '../tokens/refresh-token.ts'

/** The grant `refresh_token`: the next tokens of a session. @throws AuthError */
export async function byRefreshToken (
  request: FastifyRequest, _reply: FastifyReply, { refresh_token: token = '' }: GrantBody
): Promise<AuthSession> {
  const { server: app } = request
  const { signer, waitForListeners } = app.identity
  if (token === '') throw new AuthError('refresh_token_not_found')
  let wasReused = false
  try {
    const client = clientOf(request)
    const { user, session } = await refreshSession(app.db, signer.refreshSecret, token, client, async (tx, { id }) => {
      wasReused = true
      await app.audit.append(tx, {
        actor: 'sistema',
        ip: request.ip,
        action: 'sessioni_revocate',
        object: `session:${id}`,
        details: { reason: 'refresh_token_reused' }
      })
    })
    return await sessionResponse(signer, user, session)
  } finally {
    if (wasReused) await waitForListeners()
  }
}

/**
 * Exchanges a refresh token for the next one. A used token returns the current one again if the client may have lost
 * the response. An older token, or one that is repeated too often, counts as a copy and ends the session. A token from
 * before a proof of a second factor is refused, but does not end the session.
 * @param onReuse records in the audit log, in the same transaction, that a copy ended the session
 */
async function refreshSession (
  db: Database,
  refreshSecret: Buffer,
  text: string,
  client: Client,
  onReuse: (tx: Transaction, session: SessionRow) => Promise<void>
): Promise<SignedIn> {
  const token = decodeRefreshToken(refreshSecret, text)
  if (token === undefined) throw new AuthError('refresh_token_not_found')
  const result = await db.transaction(async (tx): Promise<SignedIn | AuthError> => {
    // The lock lets concurrent requests run one after the other. All except the first find the token used.
    const [session] = await tx.select().from(sessions).where(eq(sessions.id, token.sessionId)).for('update')
    if (!session) return new AuthError('refresh_token_not_found')
    const now = new Date()
    const lastRefreshMs = session.refreshed_at?.getTime() ?? session.created_at.getTime()
    if (session.not_after <= now || lastRefreshMs + IDLE_MS <= now.getTime()) return new AuthError('session_expired')
    const user = await getUser(tx, session.user_id)
    if (isBanned(user.banned_until)) return new AuthError('user_banned', { status: 400 })
    // Days since the session began.
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
    const [refreshed] = await tx.update(sessions)
      .set({ refresh_counter: session.refresh_counter + 1, refreshed_at: now, updated_at: now, ...client })
      .where(eq(sessions.id, session.id)).returning()
    return { user, session: refreshed! }
  })
  // Throw after the commit, because the end of the session must be committed.
  if (result instanceof AuthError) throw result
  return result
}
