import { and, eq, ne, or } from 'drizzle-orm'
import { factors, flow_states, identities, users } from '#drizzle/tables/identity.ts'
import { webauthn_credentials } from '#drizzle/tables/webauthn.ts'
import type { Transaction } from '#src/database/connect.ts'
import { revokeKeys } from '../keys/key-store.ts'
import { deleteTokens } from '../sign-in/one-time-tokens.ts'
import { deleteSessions } from '../sign-in/person-sessions.ts'
import type { UserRow } from './find-users.ts'
import { addEmailIdentity, updateEmailIdentity, updateProviders } from './identity-rows.ts'

/**
 * Revokes all earlier access to an account whose address was never verified. A stranger may have signed up with the
 * address, to share the account with its later owner. The transaction has locked the account's row. After the commit
 * the caller awaits `waitForListeners`.
 * @param provenId the identity that was just proven, which is not removed
 * @returns whether another identity, a session or a key was removed
 */
export async function revokeUnprovenAccess (tx: Transaction, id: string, provenId?: string): Promise<boolean> {
  const others = provenId === undefined ? undefined : ne(identities.id, provenId)
  const removed = await tx.delete(identities).where(and(eq(identities.user_id, id), others))
    .returning({ id: identities.id })
  const ended = await deleteSessions(tx, id, 'global')
  await tx.delete(factors).where(eq(factors.user_id, id))
  await tx.delete(webauthn_credentials).where(eq(webauthn_credentials.user_id, id))
  const revoked = await revokeKeys(tx, id)
  await deleteTokens(tx, id)
  // Delete codes of earlier sign-ins, and flows that would link another identity.
  await tx.delete(flow_states).where(or(eq(flow_states.user_id, id), eq(flow_states.linking_user_id, id)))
  await tx.update(users).set({ password_hash: null, new_email: null }).where(eq(users.id, id))
  return removed.length + ended + revoked > 0
}

/** The reason in the audit log when an administrator's action gives an account to the owner of its address. */
export const HANDED_OVER = { reason: 'handed_over' }

/** The reason in the audit log when the owner of the address verifies it. */
export const ADDRESS_PROVEN = { reason: 'address_proven' }

/**
 * Prepares an unproven account for the owner of its address: only the e-mail identity remains.
 * @returns the account, and whether access was revoked
 */
export async function resetToEmailIdentity (
  tx: Transaction, person: Pick<UserRow, 'id' | 'email'>
): Promise<{ row: UserRow, revoked: boolean }> {
  const ofAddress = and(eq(identities.user_id, person.id), eq(identities.provider, 'email'))
  const [own] = await tx.select({ id: identities.id }).from(identities).where(ofAddress)
  const revoked = await revokeUnprovenAccess(tx, person.id, own?.id)
  const unconfirmed = { ...person, email_confirmed_at: null }
  await (own ? updateEmailIdentity : addEmailIdentity)(tx, unconfirmed)
  return { row: await updateProviders(tx, person.id), revoked }
}
