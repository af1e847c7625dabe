import { and, desc, eq, isNotNull, isNull, lt, ne, not, sql, type SQL } from 'drizzle-orm'
import type { FastifyRequest } from 'fastify'
import { factors, identities, sessions, users } from '#drizzle/tables/identity.ts'
import type { Principal } from '#src/http/auth.ts'
import type { Database, Executor, Transaction } from '#src/database/connect.ts'
import { deleteInBatches } from '#src/database/delete-in-batches.ts'
import { AuthError } from '../errors.ts'
import { PASSKEY } from '../session-status.ts'
import { findUser, isBanned, withIdentities, type User, type UserRow } from '../people/find-users.ts'
import { lockUser } from '../people/people-locks.ts'
import { deleteCodes } from './flow-states.ts'

export type SessionRow = typeof sessions.$inferSelect

export interface SignedIn { user: User, session: SessionRow }

type SessionCaller = Pick<Principal, 'userId' | 'sessionId'>

export interface Client { ip: string, user_agent: string | null }

export const DAY_MS = 86_400_000
/** A session expires after this time, even if it is refreshed. */
const ABSOLUTE_MS = 90 * DAY_MS
/** A session expires after this many days without a refresh (OWASP ASVS 7.3). */
const IDLE_DAYS = 14
export const IDLE_MS = IDLE_DAYS * DAY_MS
/** After this time a new password requires the current one or a code by mail. A passkey requires a new sign-in. */
export const FRESH_MS = DAY_MS
const MAX_AGENT_LENGTH = 300

export const liveSession = sql`(${sessions.not_after} > now()
  and coalesce(${sessions.refreshed_at}, ${sessions.created_at}) > now() - make_interval(days => ${IDLE_DAYS}))`

export function clientOf ({ ip, headers }: FastifyRequest): Client {
  return { ip, user_agent: headers['user-agent']?.slice(0, MAX_AGENT_LENGTH) ?? null }
}

/**
 * Begins a session of a person whose row this transaction has locked or written, and returns the person.
 * @param method the sign-in method for `amr`, e.g. `password`, `otp`, `oauth`, `passkey`
 */
export async function beginSession (
  tx: Transaction, { id: user_id }: Pick<UserRow, 'id'>, method: string, client: Client, provider = 'email'
): Promise<SignedIn> {
  const now = new Date()
  const [session] = await tx.insert(sessions)
    .values({
      user_id,
      provider,
      amr: [{ method, timestamp: Math.floor(now.getTime() / 1000) }],
      not_after: new Date(now.getTime() + ABSOLUTE_MS),
      ...client
    })
    .returning()
  const [row] = await tx.update(users).set({ last_sign_in_at: now, updated_at: now }).where(eq(users.id, user_id))
    .returning()
  await tx.update(identities).set({ last_sign_in_at: now })
    .where(and(eq(identities.user_id, user_id), eq(identities.provider, provider)))
  return { user: await withIdentities(tx, row!), session: session! }
}

/**
 * Locks the person of a session. Until the transaction ends, no other transaction can change the person or the factors,
 * or revoke the sessions (except a refresh with a copied token). A person with a second factor must have proven it.
 * @throws AuthError session_not_found, user_banned, insufficient_aal, after a change since the guard ran
 */
export async function getSessionOwner (tx: Transaction, caller: SessionCaller): Promise<User> {
  const { user, session } = await getSignedIn(tx, caller)
  if (session.factor_id === null && user.factors.some(({ status }) => status === 'verified')) {
    throw new AuthError('insufficient_aal')
  }
  return user
}

/** Like `getSessionOwner`, for any level. Used for proofs of a second factor, and by callers that check the level. */
export async function getSignedIn (tx: Transaction, { userId, sessionId }: SessionCaller): Promise<SignedIn> {
  const person = await lockUser(tx, userId!)
  const ofPerson = and(eq(sessions.id, sessionId!), eq(sessions.user_id, userId!), liveSession)
  const [session] = await tx.select().from(sessions).where(ofPerson)
  if (!person || !session) throw new AuthError('session_not_found')
  if (isBanned(person.banned_until)) throw new AuthError('user_banned')
  return { user: await withIdentities(tx, person), session }
}

export async function findSignedIn (db: Executor, sessionId: string): Promise<SignedIn | undefined> {
  const [session] = await db.select().from(sessions).where(and(eq(sessions.id, sessionId), liveSession))
  const user = session && await findUser(db, { id: session.user_id })
  return user && { user, session }
}

type SessionScope = 'global' | 'local' | 'others'

/**
 * Ends sessions of a person. `global` means all, `local` this one, and `others` all but this one. Returns their number.
 * Except for `local`, pending codes also end, because they would begin new sessions. If this session has not proven the
 * person's second factor, sessions that have proven it continue: the password alone must not lock the person out.
 */
export async function endSessions (
  tx: Transaction, userId: string, scope: SessionScope, sessionId?: string
): Promise<number> {
  await lockUser(tx, userId)
  if (scope !== 'local') await deleteCodes(tx, userId)
  const isLower = sessionId !== undefined && await lacksProof(tx, userId, sessionId)
  const lower = isLower && scope !== 'local' ? isNull(sessions.factor_id) : undefined
  return await deleteSessions(tx, userId, scope, sessionId, lower)
}

/** Ends a person's sessions without a proven second factor, and pending codes. Returns the number of sessions. */
export async function endUnprovenSessions (tx: Transaction, userId: string): Promise<number> {
  await lockUser(tx, userId)
  await deleteCodes(tx, userId)
  return await deleteSessions(tx, userId, 'global', undefined, isNull(sessions.factor_id))
}

/** Whether the person has a second factor, and this session has not proven it or has ended. */
async function lacksProof (tx: Transaction, userId: string, sessionId: string): Promise<boolean> {
  const proven = and(eq(sessions.id, sessionId), eq(sessions.user_id, userId), isNotNull(sessions.factor_id))
  const verified = and(eq(factors.user_id, userId), eq(factors.status, 'verified'))
  return await tx.$count(sessions, proven) === 0 && await tx.$count(factors, verified) > 0
}

/**
 * Ends a person's sessions of a scope, or those of them that match `only`. Pending codes stay valid. Requires the
 * person's lock.
 * @returns the number of ended sessions
 */
export async function deleteSessions (
  tx: Transaction, userId: string, scope: SessionScope, sessionId?: string, only?: SQL
): Promise<number> {
  if (scope !== 'global' && sessionId === undefined) return 0
  const ofPerson = eq(sessions.user_id, userId)
  const which = scope === 'global'
    ? ofPerson
    : and(ofPerson, scope === 'local' ? eq(sessions.id, sessionId!) : ne(sessions.id, sessionId!))
  return (await tx.delete(sessions).where(and(which, only)).returning({ id: sessions.id })).length
}

/**
 * Ends a person's sessions that a provider's identity started, except `exceptId`. Pending codes of the provider also
 * end. Requires the person's lock.
 * @returns the number of ended sessions
 */
export async function endSessionsOf (
  tx: Transaction, userId: string, provider: string, exceptId: string | undefined
): Promise<number> {
  await deleteCodes(tx, userId, provider)
  const others = exceptId === undefined ? undefined : ne(sessions.id, exceptId)
  return (await tx.delete(sessions).where(and(eq(sessions.user_id, userId), eq(sessions.provider, provider), others))
    .returning({ id: sessions.id })).length
}

/**
 * Ends a person's sessions that any passkey started, except `exceptId`. The database does not store which passkey it
 * was. Requires the person's lock.
 * @returns the number of ended sessions
 */
export async function endPasskeySessions (tx: Transaction, userId: string, exceptId?: string): Promise<number> {
  const isOfPasskey = sql`${sessions.amr} @> ${JSON.stringify([{ method: PASSKEY }])}::jsonb`
  const scope = exceptId === undefined ? 'global' : 'others'
  return await deleteSessions(tx, userId, scope, exceptId, isOfPasskey)
}

export async function listSessions (db: Executor, userId: string): Promise<SessionRow[]> {
  return await db.select().from(sessions).where(and(eq(sessions.user_id, userId), liveSession))
    .orderBy(desc(sessions.updated_at))
}

/** Deletes expired sessions a month after their last update. Until then their clients get `session_expired`. */
export async function deleteEndedSessions (db: Database): Promise<void> {
  const isOld = lt(sessions.updated_at, sql`now() - interval '30 days'`)
  await deleteInBatches(db, sessions, and(not(liveSession), isOld))
}

export async function countUsersAndSessions (db: Executor): Promise<{ users: number, sessions: number }> {
  return { users: await db.$count(users, isNull(users.deleted_at)), sessions: await db.$count(sessions, liveSession) }
}
