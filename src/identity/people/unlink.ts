import { and, eq } from 'drizzle-orm'
import { identities, users } from '#drizzle/tables/identity.ts'
import type { Transaction } from '#src/plugins/database/connect.ts'
import { AuthError } from '../errors.ts'
import { isEmail, normalizeEmail } from './email.ts'
import type { IdentityRow, User } from './find-users.ts'
import { updateProviders } from './identity-rows.ts'
import { lockUserAndRights, updateUser } from './users.ts'

/**
 * Removes an identity of a person. Two requests at once wait for each other, so that the last identity stays.
 * @throws AuthError user_not_found, identity_not_found, single_identity_not_deletable,
 * email_conflict_identity_not_deletable, last_admin
 */
export async function unlinkIdentity (tx: Transaction, userId: string, identityId: string): Promise<void> {
  const user = await lockUserAndRights(tx, userId)
  const identity = user.identities.find(({ id }) => id === identityId)
  const others = user.identities.filter(({ id }) => id !== identityId)
  if (!identity && others.length > 1) throw new AuthError('identity_not_found')
  if (others.length === 0 || !identity) throw new AuthError('single_identity_not_deletable')
  await tx.delete(identities).where(and(eq(identities.id, identityId), eq(identities.user_id, userId)))
  await moveToOtherEmail(tx, user, others)
  // Without its e-mail identity an account has no password either.
  if (identity.provider === 'email') await tx.update(users).set({ password_hash: null }).where(eq(users.id, userId))
  await updateProviders(tx, userId)
}

/** When no identity is left with the account's address, it gets the address of another one; a verified one first. */
async function moveToOtherEmail (tx: Transaction, user: User, others: IdentityRow[]): Promise<void> {
  const addresses = others.flatMap(({ identity_data }) =>
    typeof identity_data.email === 'string' && isEmail(identity_data.email)
      ? [{ address: identity_data.email, verified: identity_data.email_verified === true }]
      : []
  )
  if (addresses.length === 0 || addresses.some(({ address }) => normalizeEmail(address) === user.email)) return
  const next = addresses.find(({ verified }) => verified) ?? addresses[0]!
  try {
    const email_confirmed_at = next.verified ? new Date() : null
    await updateUser(tx, user.id, { email: next.address, email_confirmed_at }, user)
  } catch (err) {
    throw err instanceof AuthError && err.code === 'email_exists'
      ? new AuthError('email_conflict_identity_not_deletable')
      : err
  }
}
