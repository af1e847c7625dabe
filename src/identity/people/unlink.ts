import { and, eq } from 'drizzle-orm'
import { identities, users } from '#drizzle/tables/identity.ts'
import type { Transaction } from '#src/database/connect.ts'
import { AuthError } from '../errors.ts'
import { endSessionsOf } from '../sign-in/sessions.ts'
import { isEmail, normalizeEmail } from './email.ts'
import type { IdentityRow, User } from './find-users.ts'
import { updateProviders } from './identity-rows.ts'
import { updateUser } from './users.ts'

/**
 * Removes an identity of a person, and ends the sessions that it began: a thief of the account at the provider may be
 * in one. The session that asks for it goes on. The caller has locked the person, and seen that who asks is at the
 * level that the person needs. Two requests at once wait for each other, so that the last identity stays. After the
 * commit the caller awaits `waitForListeners`.
 * @returns how many sessions have ended
 * @throws AuthError identity_not_found, single_identity_not_deletable, email_conflict_identity_not_deletable
 */
export async function unlinkIdentity (
  tx: Transaction,
  user: User,
  identityId: string,
  sessionId?: string
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
 * When no identity is left with the account's address, it gets one that the provider of another identity has verified.
 * Anybody can write an unverified address at a provider, also that of a future colleague: without a verified one the
 * account keeps its own.
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
