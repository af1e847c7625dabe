import { and, desc, eq, lt, ne, not, sql } from 'drizzle-orm'
import type { FastifyRequest } from 'fastify'
import { identities, sessions, users } from '#drizzle/tables/identity.ts'
import type { AuthSession } from '#schemas/auth/session.ts'
import type { Database, Executor, Transaction } from '#src/plugins/database/connect.ts'
import { signAccessToken } from '../tokens/access-token.ts'
import { AuthError } from '../errors.ts'
import { presentUser } from '../people/present.ts'
import { decodeRefreshToken, encodeRefreshToken, judgeRefresh } from '../tokens/refresh-token.ts'
import type { SigningKeys } from '../tokens/signing-keys.ts'
import {
  getUser,
  IDLE_DAYS,
  isBanned,
  liveSession,
  lockUser,
  withIdentities,
  type User,
  type UserRow
} from '../people/users.ts'

export type SessionRow = typeof sessions.$inferSelect

/** A session that has begun, or goes on, and whose it is. */
export interface Begun { user: User, session: SessionRow }

/** Where somebody signs in from. */
export interface Client { ip: string, user_agent: string | null }

/** What signs the tokens of this installation. */
export interface TokenSigner {
  issuer: string
  signingKeys: SigningKeys
  refreshSecret: Buffer
}

const DAY_MS = 86_400_000
/** A session ends after this, however often it is refreshed. */
const ABSOLUTE_MS = 90 * DAY_MS
const IDLE_MS = IDLE_DAYS * DAY_MS
const LONGEST_AGENT = 300

export function clientOf ({ ip, headers }: FastifyRequest): Client {
  return { ip, user_agent: headers['user-agent']?.slice(0, LONGEST_AGENT) ?? null }
}

/**
 * Begins a session. `method` is how the person has proven who they are (`password`, `otp`, `oauth`, `recovery`,
 * `invite`, `magiclink`).
 * @throws AuthError user_not_found, user_banned, for who was deleted or banned meanwhile
 */
export async function beginSession (
  tx: Transaction,
  { id: user_id }: UserRow,
  method: string,
  client: Client,
  provider = 'email'
): Promise<SessionRow> {
  const person = await lockUser(tx, user_id)
  if (!person) throw new AuthError('user_not_found')
  if (isBanned(person.banned_until)) throw new AuthError('user_banned')
  const now = new Date()
  const [session] = await tx
    .insert(sessions)
    .values({
      user_id,
      amr: [{ method, timestamp: Math.floor(now.getTime() / 1000) }],
      not_after: new Date(now.getTime() + ABSOLUTE_MS),
      ...client
    })
    .returning()
  await tx.update(users).set({ last_sign_in_at: now, updated_at: now }).where(eq(users.id, user_id))
  await tx
    .update(identities)
    .set({ last_sign_in_at: now })
    .where(and(eq(identities.user_id, user_id), eq(identities.provider, provider)))
  return session!
}

/**
 * Whoever is signed in with a session, as they are until the transaction ends: nobody else changes them or ends their
 * sessions before.
 * @throws AuthError session_not_found, user_banned, when that has happened already
 */
export async function getSessionOwner (
  tx: Transaction,
  { userId, sessionId }: { userId: string; sessionId: string }
): Promise<User> {
  const person = await lockUser(tx, userId)
  const its = and(eq(sessions.id, sessionId), eq(sessions.user_id, userId), liveSession)
  const [session] = await tx.select({ id: sessions.id }).from(sessions).where(its)
  if (!person || !session) throw new AuthError('session_not_found')
  if (isBanned(person.banned_until)) throw new AuthError('user_banned')
  return await withIdentities(tx, person)
}

/** The answer to a sign-in: fresh tokens, and the user. */
export async function sessionAnswer (
  { issuer, signingKeys, refreshSecret }: TokenSigner,
  user: User,
  session: SessionRow
): Promise<AuthSession> {
  const { email, app_metadata, user_metadata } = user
  const subject = { userId: user.id, sessionId: session.id, email, app_metadata, user_metadata, amr: session.amr }
  const { token, expiresIn, expiresAt } = await signAccessToken(signingKeys, issuer, subject)
  return {
    access_token: token,
    token_type: 'bearer',
    expires_in: expiresIn,
    expires_at: expiresAt,
    refresh_token: encodeRefreshToken(refreshSecret, { sessionId: session.id, counter: session.refresh_counter }),
    user: presentUser(user)
  }
}

/**
 * Turns a refresh token into the next one. A token that was turned already gives the present one again when the client
 * can have lost the answer; an older one is somebody else's copy, and ends the session for both.
 * @param onReuse writes down that it happened, in the same transaction
 * @throws AuthError refresh_token_not_found, refresh_token_already_used, session_expired, user_banned
 */
export async function refreshSession (
  db: Database,
  refreshSecret: Buffer,
  text: string,
  client: Client,
  onReuse: (tx: Transaction, session: SessionRow) => Promise<void>
): Promise<Begun> {
  const token = decodeRefreshToken(refreshSecret, text)
  if (token === undefined) throw new AuthError('refresh_token_not_found')
  const outcome = await db.transaction(async (tx): Promise<Begun | AuthError> => {
    // The lock makes one of many at once the first; the others then find a token that has been turned.
    const [session] = await tx.select().from(sessions).where(eq(sessions.id, token.sessionId)).for('update')
    if (!session) return new AuthError('refresh_token_not_found')
    const now = new Date()
    const lastRefreshMs = session.refreshed_at?.getTime() ?? session.created_at.getTime()
    if (session.not_after <= now || lastRefreshMs + IDLE_MS <= now.getTime()) return new AuthError('session_expired')
    const user = await getUser(tx, session.user_id)
    if (isBanned(user.banned_until)) return new AuthError('user_banned', { status: 400 })
    const verdict = judgeRefresh({
      tokenCounter: token.counter,
      sessionCounter: session.refresh_counter,
      lastRefreshMs,
      nowMs: now.getTime()
    })
    if (verdict === 'invalid') return new AuthError('refresh_token_not_found')
    if (verdict === 'reused') {
      await tx.delete(sessions).where(eq(sessions.id, session.id))
      await onReuse(tx, session)
      return new AuthError('refresh_token_already_used')
    }
    if (verdict === 'repeat') return { user, session }
    const [turned] = await tx
      .update(sessions)
      .set({ refresh_counter: session.refresh_counter + 1, refreshed_at: now, updated_at: now, ...client })
      .where(eq(sessions.id, session.id))
      .returning()
    return { user, session: turned! }
  })
  // Thrown only now: ending the session is to be kept.
  if (outcome instanceof AuthError) throw outcome
  return outcome
}

/** `global`: all of a person's sessions; `local`: this one; `others`: all but this one. Returns how many have ended. */
export async function endSessions (
  tx: Transaction,
  userId: string,
  scope: 'global' | 'local' | 'others',
  sessionId?: string
): Promise<number> {
  const mine = eq(sessions.user_id, userId)
  if (scope !== 'global' && sessionId === undefined) return 0
  await lockUser(tx, userId)
  const which =
    scope === 'global' ? mine : and(mine, scope === 'local' ? eq(sessions.id, sessionId!) : ne(sessions.id, sessionId!))
  return (await tx.delete(sessions).where(which).returning({ id: sessions.id })).length
}

/** A person's sessions that go on, the latest first. */
export async function listSessions (db: Executor, userId: string): Promise<SessionRow[]> {
  return await db
    .select()
    .from(sessions)
    .where(and(eq(sessions.user_id, userId), liveSession))
    .orderBy(desc(sessions.updated_at))
}

/** Sessions that have ended by themselves a month ago; until then their clients are told that they have expired. */
export async function forgetEndedSessions (db: Executor): Promise<void> {
  await db.delete(sessions).where(and(not(liveSession), lt(sessions.updated_at, sql`now() - interval '30 days'`)))
}
