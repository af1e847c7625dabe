import type { TokenKind } from '#schemas/auth/one-time-token.ts'
import type { Transaction } from '#src/database/connect.ts'
import { AuthError } from '../errors.ts'
import type { User, UserRow } from '../people/find-users.ts'
import { updateUser } from '../people/users.ts'
import { confirmedAddress, deleteTokens, markConfirmed, type TokenRow } from '../sign-in/one-time-tokens.ts'
import type { LinkTarget, MailFlows } from './mail-flows.ts'

/** The tokens of a change of address. */
export const EMAIL_CHANGE_KINDS = [
  'email_change_current',
  'email_change_new',
  'email_change_half'
] satisfies TokenKind[]

/** Writes to both addresses. The account keeps the old one until both have confirmed. */
export async function startEmailChange (
  tx: Transaction,
  flows: MailFlows,
  user: User,
  email: string,
  target: LinkTarget
): Promise<User> {
  await deleteTokens(tx, user.id, EMAIL_CHANGE_KINDS)
  return await resendEmailChange(tx, flows, await updateUser(tx, user.id, { new_email: email }), target)
}

/** Writes to the addresses that have not confirmed yet. */
export async function resendEmailChange (
  tx: Transaction,
  flows: MailFlows,
  user: User,
  target: LinkTarget
): Promise<User> {
  const confirmed = await confirmedAddress(tx, user.id)
  const mails = [['email_change_current', user.email], ['email_change_new', user.new_email!]] as const
  let changed = user
  for (const [kind, to] of mails) if (to !== confirmed) changed = await flows.send(tx, user, kind, target, to)
  return changed
}

/**
 * Takes the confirmation of one of the two addresses. With the second one the account changes to the new address, and
 * everything that was sent to the old one is void. An error is returned, not thrown, so that the transaction commits:
 * otp_expired, email_exists.
 * @param person the account's row, locked: of two confirmations at once one is the second
 * @returns `waiting` while the other address has not confirmed
 */
export async function confirmEmailChange (
  tx: Transaction,
  { email, new_email }: UserRow,
  token: TokenRow
): Promise<User | 'waiting' | AuthError> {
  const { user_id, kind, sent_to } = token
  const [mine, other] = kind === 'email_change_current' ? [email, new_email] : [new_email, email]
  if (new_email === null || mine !== sent_to) return new AuthError('otp_expired')
  if ((await confirmedAddress(tx, user_id)) !== other) {
    await markConfirmed(tx, token)
    return 'waiting'
  }
  await deleteTokens(tx, user_id)
  try {
    return await updateUser(tx, user_id, { email: new_email, email_confirmed_at: new Date(), new_email: null })
  } catch (err) {
    // Another account has got the address meanwhile.
    if (!(err instanceof AuthError) || err.code !== 'email_exists') throw err
    await updateUser(tx, user_id, { new_email: null })
    return err
  }
}
