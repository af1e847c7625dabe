import { and, count, eq, isNotNull, isNull, ne, or, sql } from 'drizzle-orm'
import { factors, identities, sessions, users, type Metadata } from '#drizzle/tables/identity.ts'
import { webauthn_credentials } from '#drizzle/tables/webauthn.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { postgresError } from '#src/database/problems.ts'
import { AuthError } from '../errors.ts'
import { revokeKeys } from '../keys/key-store.ts'
import { deleteTokens } from '../sign-in/one-time-tokens.ts'
import { isEmail, normalizeEmail } from './email.ts'
import { isBanned, notDeleted, withIdentities, type IdentityRow, type User, type UserRow } from './find-users.ts'
import { addEmailIdentity, updateEmailIdentity, updateProviders } from './identity-rows.ts'
import { lockRights, lockUser } from './people-locks.ts'
import { isAdmin, isAdminRow, withDefaultRole } from './roles.ts'
import { endSessionsOf } from '../sign-in/person-sessions.ts'

export interface NewUser {
  /** The id, if an administrator has chosen it. Random by default. */
  id?: string
  email: string
  password_hash?: string | null
  /** The browser in which the password was chosen, while the address is not verified. */
  password_browser?: Buffer
  /** Whether the server prints the password. */
  password_printed?: boolean
  /** Whether the address is verified, or an administrator has confirmed it. */
  confirmed: boolean
  invited?: boolean
  app_metadata?: Metadata
  user_metadata?: Metadata
}

export type UserChange = Partial<Omit<UserRow, 'id' | 'created_at' | 'updated_at' | 'deleted_at'>>

/**
 * Locks a person's row and the rights of all users, so that no other transaction can change either until this one ends.
 * @throws AuthError user_not_found
 */
export async function lockUserAndRights (tx: Transaction, id: string): Promise<User> {
  await lockRights(tx)
  const row = await lockUser(tx, id)
  if (!row) throw new AuthError('user_not_found')
  return await withIdentities(tx, row)
}

export async function createUser (tx: Transaction, account: NewUser): Promise<User> {
  const { id, email, password_hash = null, password_browser, password_printed, confirmed, invited = false } = account
  const { app_metadata = {}, user_metadata = {} } = account
  const now = new Date()
  const row = await insertUser(tx, {
    ...(id === undefined ? {} : { id }),
    email: normalizeEmail(email),
    password_hash,
    password_browser,
    password_printed,
    email_confirmed_at: confirmed ? now : null,
    invited_at: invited ? now : null,
    app_metadata: { provider: 'email', providers: ['email'], ...withDefaultRole(app_metadata) },
    user_metadata
  })
  await addEmailIdentity(tx, row)
  return await withIdentities(tx, row)
}

export async function insertUser (tx: Transaction, values: typeof users.$inferInsert): Promise<UserRow> {
  // The inner transaction is a savepoint, so the outer one can continue if the address is taken.
  return await refuseTaken(async () => {
    const [row] = await tx.transaction(async (inner) => await inner.insert(users).values(values).returning())
    return row!
  })
}

/**
 * Changes a person. Confirming an address voids the password of the sign-up, because another person may have chosen it.
 * A password in the same change is kept.
 * @param locked the person's row, when `lockUserAndRights` has read it in this transaction
 * @throws AuthError user_not_found, email_exists, last_admin
 */
export async function updateUser (tx: Transaction, id: string, change: UserChange, locked?: UserRow): Promise<User> {
  if (change.app_metadata !== undefined || change.banned_until !== undefined || change.email_confirmed_at === null) {
    const present = locked ?? await findRowAndLockRights(tx, id)
    await refuseLastAdmin(tx, present, (row) => mayAdminister({ ...row, ...change }))
  }
  const values = { ...change, ...normalized(change.email), ...provenPassword(change), updated_at: new Date() }
  const [row] = await refuseTaken(async () => await tx.transaction(async (inner) => (
    await inner.update(users).set(values).where(and(eq(users.id, id), notDeleted)).returning()
  )))
  if (!row) throw new AuthError('user_not_found')
  if (change.email !== undefined || change.email_confirmed_at !== undefined) await updateEmailIdentity(tx, row)
  return await withIdentities(tx, row)
}

/**
 * Deletes a person, or with `soft` keeps the empty row, so that its id is never reused. The person's sessions and keys
 * end. An empty row can be deleted later.
 * @throws AuthError user_not_found, last_admin
 */
export async function deleteUser (tx: Transaction, id: string, soft = false): Promise<void> {
  await refuseLastAdmin(tx, await findRowAndLockRights(tx, id), () => false)
  const [deleted] = soft
    ? await tx.update(users)
      .set({
        deleted_at: new Date(),
        email: `deleted-${id}`,
        password_hash: null,
        user_metadata: {},
        app_metadata: {},
        new_email: null
      })
      .where(and(eq(users.id, id), notDeleted))
      .returning({ id: users.id })
    : await tx.delete(users).where(eq(users.id, id)).returning({ id: users.id })
  if (!deleted) throw new AuthError('user_not_found')
  await revokeKeys(tx, id)
  if (soft) {
    await deleteTokens(tx, id)
    await tx.delete(sessions).where(eq(sessions.user_id, id))
    await tx.delete(factors).where(eq(factors.user_id, id))
    await tx.delete(webauthn_credentials).where(eq(webauthn_credentials.user_id, id))
    await tx.delete(identities).where(eq(identities.user_id, id))
  }
}

function provenPassword ({
  email_confirmed_at: confirmed, password_hash, password_browser = null, password_printed = false
}: UserChange) {
  if (password_hash !== undefined) return { password_browser, password_printed }
  if (confirmed === undefined || confirmed === null) return {}
  return {
    password_hash: sql`case when ${users.password_browser} is null then ${users.password_hash} end`,
    password_browser: null
  }
}

function normalized (email: string | undefined): { email?: string } {
  return email === undefined ? {} : { email: normalizeEmail(email) }
}

/**
 * Refuses a change after which no administrator could sign in. The lock on the rights lets concurrent changes run one
 * after the other, so the second one reads the result of the first.
 */
async function refuseLastAdmin (
  tx: Transaction, row: UserRow | undefined, staysAdmin: (row: UserRow) => boolean
): Promise<void> {
  if (!row || !mayAdminister(row) || staysAdmin(row)) return
  const [others] = await tx.select({ n: count() }).from(users)
    .where(and(notDeleted, ne(users.id, row.id), isAdminRow, notBanned, isNotNull(users.email_confirmed_at)))
  if (others!.n === 0) throw new AuthError('last_admin')
}

async function findRowAndLockRights (tx: Transaction, id: string): Promise<UserRow | undefined> {
  await lockRights(tx)
  const [row] = await tx.select().from(users).where(and(eq(users.id, id), notDeleted))
  return row
}

function mayAdminister ({ app_metadata, banned_until, email_confirmed_at }: UserRow): boolean {
  return isAdmin(app_metadata) && !isBanned(banned_until) && email_confirmed_at !== null
}

const notBanned = or(isNull(users.banned_until), sql`${users.banned_until} <= now()`)

export async function countAdmins (db: Executor): Promise<number> {
  const [found] = await db.select({ n: count() }).from(users).where(and(notDeleted, isAdminRow))
  return found!.n
}

async function refuseTaken<T> (work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (err) {
    const taken = postgresError(err)?.constraint_name
    if (taken === 'users_email') throw new AuthError('email_exists')
    if (taken === 'users_pkey') throw new AuthError('user_already_exists')
    throw err
  }
}

/**
 * Removes an identity of a person and ends the sessions that it started. Someone who has stolen the account at the
 * provider may be using one of them. The session of the request continues. The caller has locked the person and checked
 * the required level. The lock serializes concurrent requests, so that the last identity remains. After the commit the
 * caller awaits `waitForListeners`.
 * @returns the number of ended sessions
 * @throws AuthError identity_not_found, single_identity_not_deletable, email_conflict_identity_not_deletable
 */
export async function unlinkIdentity (
  tx: Transaction, user: User, identityId: string, sessionId?: string
): Promise<number> {
  const { id: userId } = user
  const identity = user.identities.find(({ id }) => id === identityId)
  const others = user.identities.filter(({ id }) => id !== identityId)
  if (!identity && others.length > 1) throw new AuthError('identity_not_found')
  if (others.length === 0 || !identity) throw new AuthError('single_identity_not_deletable')
  await tx.delete(identities).where(and(eq(identities.id, identityId), eq(identities.user_id, userId)))
  await moveToOtherEmail(tx, user, others)
  // Without its e-mail identity an account has no password either.
  if (identity.provider === 'email') await tx.update(users).set({ password_hash: null }).where(eq(users.id, userId))
  await updateProviders(tx, userId)
  return await endSessionsOf(tx, userId, identity.provider, sessionId)
}

/**
 * If no remaining identity has the account's address, the account gets the verified address of another identity. It
 * never gets an unverified one, because at a provider anyone can claim any address, even a future colleague's. Without
 * a verified address the account keeps its address.
 */
async function moveToOtherEmail (tx: Transaction, user: User, others: IdentityRow[]): Promise<void> {
  const addresses = others.flatMap(({ identity_data: { email, email_verified: verified } }) =>
    typeof email === 'string' && isEmail(email)
      ? [{ email: normalizeEmail(email), isVerified: verified === true }]
      : []
  )
  const next = addresses.find(({ isVerified }) => isVerified)
  if (next === undefined || addresses.some(({ email }) => email === user.email)) return
  try {
    await updateUser(tx, user.id, { email: next.email, email_confirmed_at: new Date() })
  } catch (err) {
    throw err instanceof AuthError && err.code === 'email_exists'
      ? new AuthError('email_conflict_identity_not_deletable')
      : err
  }
}
