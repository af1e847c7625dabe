import { and, eq, ne, or } from 'drizzle-orm'
import { flow_states, identities, users } from '#drizzle/tables/identity.ts'
import type { Transaction } from '#src/plugins/database/connect.ts'
import { revokeKeys } from '../keys/key-store.ts'
import { deleteTokens } from '../sign-in/one-time-tokens.ts'
import { deleteSessions } from '../sign-in/sessions.ts'
import type { UserRow } from './find-users.ts'
import { addEmailIdentity, updateProviders } from './identity-rows.ts'

/**
 * Revokes all earlier access to an account whose address was never proven: a stranger may have signed up with it, to
 * be in the account before its owner comes. The transaction has locked the account's row; after the commit the caller
 * awaits `waitForListeners`.
 * @param provenId the identity that has just been proven, which stays
 */
export async function revokeUnprovenAccess (tx: Transaction, id: string, provenId?: string): Promise<void> {
  const others = provenId === undefined ? undefined : ne(identities.id, provenId)
  await tx.delete(identities).where(and(eq(identities.user_id, id), others))
  await deleteSessions(tx, id, 'global')
  await revokeKeys(tx, id)
  await deleteTokens(tx, id)
  // Codes of the earlier sign-ins, and flows that would link a further identity.
  await tx.delete(flow_states).where(or(eq(flow_states.user_id, id), eq(flow_states.linking_user_id, id)))
  await tx.update(users).set({ password_hash: null, new_email: null }).where(eq(users.id, id))
}

/** Why access has ended, in the audit log, when an administrator hands an account to the owner of its address. */
export const HANDED_OVER = { reason: 'handed_over' }

/** The same, where an administrator hands the account to the owner of its address: it is left with that alone. */
export async function startAnew (tx: Transaction, { id, email }: Pick<UserRow, 'id' | 'email'>): Promise<UserRow> {
  await revokeUnprovenAccess(tx, id)
  await addEmailIdentity(tx, { id, email, email_confirmed_at: null })
  return await updateProviders(tx, id)
}
