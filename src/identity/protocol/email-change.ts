import { eq } from 'drizzle-orm'
import { users } from '#drizzle/tables/identity.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Transaction } from '#src/plugins/database/connect.ts'
import { AuthError } from '../errors.ts'
import { forgetTokens, issueToken, provenHalf, type TokenKind, type TokenRow } from '../sign-in/one-time-tokens.ts'
import { getUser, updateUser, type User } from '../people/users.ts'
import type { MailFlows, Way } from './mail-flows.ts'

/** All that a change of address has left behind. */
export const CHANGE_KINDS = ['email_change_current', 'email_change_new', 'email_change_half'] satisfies TokenKind[]

/** Writes to both addresses; the account keeps the old one until both have answered. */
export async function startEmailChange (
  tx: Transaction,
  flows: MailFlows,
  user: User,
  email: string,
  way: Way
): Promise<User> {
  await forgetTokens(tx, user.id, CHANGE_KINDS)
  return await resendEmailChange(tx, flows, await updateUser(tx, user.id, { new_email: email }), way)
}

/** Writes to the addresses that have not answered yet. */
export async function resendEmailChange (tx: Transaction, flows: MailFlows, user: User, way: Way): Promise<User> {
  const proven = await provenHalf(tx, user.id)
  const halves = [['email_change_current', user.email], ['email_change_new', user.new_email!]] as const
  let changed = user
  for (const [kind, to] of halves) if (to !== proven) changed = await flows.send(tx, user, kind, way, to)
  return changed
}

/**
 * One of the two addresses has answered. With the second one the account changes to the new address, and everything
 * that was sent to the old one is void. `half`: the other one has yet to answer. An error is returned, not thrown, so
 * that the transaction commits: otp_expired, email_exists.
 */
export async function proveHalf (
  tx: Transaction,
  keys: Keys,
  { user_id, kind, sent_to }: TokenRow
): Promise<User | 'half' | AuthError> {
  // Of both halves at once, one is the second.
  await tx.select({ id: users.id }).from(users).where(eq(users.id, user_id)).for('update')
  const { email, new_email } = await getUser(tx, user_id)
  const [mine, other] = kind === 'email_change_current' ? [email, new_email] : [new_email, email]
  if (new_email === null || mine !== sent_to) return new AuthError('otp_expired')
  if ((await provenHalf(tx, user_id)) !== other) {
    await issueToken(tx, keys, { user_id, kind: 'email_change_half', sent_to })
    return 'half'
  }
  await forgetTokens(tx, user_id)
  try {
    return await updateUser(tx, user_id, { email: new_email, email_confirmed_at: new Date(), new_email: null })
  } catch (err) {
    // Somebody else has it by now.
    if (!(err instanceof AuthError) || err.code !== 'email_exists') throw err
    await updateUser(tx, user_id, { new_email: null })
    return err
  }
}
