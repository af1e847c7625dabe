import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { TokenKind } from '#schemas/auth/one-time-token.ts'
import type { Config } from '#src/config/config.ts'
import type { Transaction } from '#src/database/connect.ts'
import { plainAddress } from '#src/services/mail/mail-address.ts'
import { AuthError, validationFailed } from '../errors.ts'
import { languageOfPerson } from '../languages.ts'
import { isEmail, normalizeEmail } from '../people/email.ts'
import type { User, UserRow } from '../people/find-users.ts'
import { updateUser, type UserChange } from '../people/users.ts'
import { record } from '../audit-record.ts'
import { createFlow, readChallenge, type Challenge, type ChallengeParameters } from '../sign-in/flow-states.ts'
import { composeMail, CONFIRM_PAGE, type MailKind } from '../sign-in/account-mails.ts'
import {
  confirmedAddress, deleteTokens, issueToken, markConfirmed, type TokenRow, type TokenSecrets
} from '../sign-in/one-time-tokens.ts'
import { allowedRedirect } from '../sign-in/redirects.ts'
import { countMail, withMinimumTime } from './request-limits.ts'

/** The kinds that are sent by mail. The remaining kind only records that one address has confirmed a change. */
export type SentKind = Exclude<TokenKind, 'email_change_half'>

/**
 * For each kind: its mail, the sign-in method when a client exchanges the link's code (PKCE), and the field for the
 * time of sending.
 */
const KINDS: Readonly<
  Record<SentKind, { mail: MailKind; method: string; sentAt: keyof UserChange & `${string}_sent_at` }>
> = {
  signup: { mail: 'signup', method: 'email/signup', sentAt: 'confirmation_sent_at' },
  invite: { mail: 'invite', method: 'invite', sentAt: 'confirmation_sent_at' },
  recovery: { mail: 'recovery', method: 'recovery', sentAt: 'recovery_sent_at' },
  magiclink: { mail: 'magiclink', method: 'magiclink', sentAt: 'recovery_sent_at' },
  email_change_current: { mail: 'email_change', method: 'email_change', sentAt: 'email_change_sent_at' },
  email_change_new: { mail: 'email_change', method: 'email_change', sentAt: 'email_change_sent_at' },
  reauthentication: { mail: 'reauthentication', method: 'otp', sentAt: 'reauthentication_sent_at' }
}

/** The URL to which a mail's link finally leads, and the challenge of the client that gets the session. */
export interface LinkTarget {
  redirectTo: string
  /** Whether the client neither named a URL nor waits for a code. */
  isOpen: boolean
  challenge?: Challenge
  /** The password of a sign-up, which is set when the client of the sign-up completes the flow. */
  password_hash?: string
}

export interface IssuedLink extends TokenSecrets {
  user: User
  url: string
}

interface MailRequest {
  request: FastifyRequest
  reply: FastifyReply
  kind: SentKind
  to: string
}

/**
 * Normalizes an address, and checks that mail can be sent to it.
 * @throws AuthError validation_failed, phone_provider_disabled
 */
export function requireAddress ({ email, phone }: { email?: string, phone?: string }): string {
  if (email && phone) throw validationFailed('Only an email address or phone number should be provided')
  if (phone) throw new AuthError('phone_provider_disabled')
  if (!email) throw validationFailed('An email address is required')
  const address = normalizeEmail(email)
  if (!isEmail(address) || plainAddress(address) === undefined) {
    throw validationFailed('Unable to validate email address: invalid format')
  }
  return address
}

/** Call it before any lookup, so that every address gets this response. @throws AuthError email_provider_disabled */
export function requireMail ({ mail }: FastifyInstance): void {
  if (!mail.configured) throw new AuthError('email_provider_disabled')
}

/** @throws AuthError validation_failed, for an incomplete or malformed challenge */
export function linkTarget (
  config: Config, redirectTo: string | undefined, parameters: ChallengeParameters
): LinkTarget {
  const challenge = readChallenge(parameters)
  return {
    redirectTo: new URL(allowedRedirect(config, redirectTo)).href,
    isOpen: !redirectTo && challenge.code_challenge === null,
    challenge
  }
}

/** Creates the link and code of a kind, and writes the time of sending. `to` defaults to the account's address. */
export async function issueLink (
  { identity: { config, keys } }: FastifyInstance,
  tx: Transaction,
  user: User,
  kind: SentKind,
  { redirectTo: redirect_to, challenge, password_hash }: LinkTarget,
  to = user.email
): Promise<IssuedLink> {
  const { mail, method: authentication_method, sentAt } = KINDS[kind]
  const flow = challenge?.code_challenge
    ? await createFlow(tx, { provider: 'email', ...challenge, password_hash, redirect_to, authentication_method })
    : undefined
  const changed = await updateUser(tx, user.id, { [sentAt]: new Date() })
  const secrets = await issueToken(tx, keys, { user_id: user.id, kind, sent_to: to, flow_state_id: flow?.id })
  const query = new URLSearchParams({ token: secrets.link, type: mail, redirect_to })
  return { ...secrets, user: changed, url: `${config.PUBLIC_URL}/auth/v1/verify?${query.toString()}` }
}

/** Creates link and code and sends them by mail. The caller calls `app.mail.deliver()` after the commit. */
export async function sendLink (
  app: FastifyInstance, tx: Transaction, user: User, kind: SentKind, target: LinkTarget, to = user.email
): Promise<User> {
  const { config } = app.identity
  const { user: changed, url, link: token, code } = await issueLink(app, tx, user, kind, target, to)
  const { mail: type } = KINDS[kind]
  const page = `${config.PUBLIC_URL}${CONFIRM_PAGE}?${new URLSearchParams({ token, type }).toString()}`
  const link = leadsToPages(config, kind, target) ? page : url
  const email = type === 'email_change' ? (user.new_email ?? undefined) : user.email
  await app.mail.enqueue(tx, { to, ...composeMail(type, { link, code, email }, languageOfPerson(user)) })
  return changed
}

/**
 * Whether a mail links to this server's pages. Never if the client has named a URL or uses PKCE. Otherwise invitations
 * and recoveries, which set a password, link to them. Other mails link to them only without a front end.
 */
function leadsToPages ({ CORS_ORIGINS }: Config, kind: SentKind, { isOpen }: LinkTarget): boolean {
  return isOpen && (kind === 'invite' || kind === 'recovery' || CORS_ORIGINS.length === 0)
}

/** Sends a mail and records it in the audit log. */
export async function sendOnRecord (
  tx: Transaction, request: FastifyRequest, user: User, kind: SentKind, target: LinkTarget
): Promise<User> {
  const sent = await sendLink(request.server, tx, user, kind, target)
  await record(tx, request, 'email', `user:${user.id}`, { kind })
  return sent
}

/**
 * Counts the mail, runs the work and delivers the mail. Takes the same minimum time with and without an account. The
 * caller has called `admitMail`.
 * @throws AuthError over_email_send_rate_limit
 */
export async function runUniformly<T> (
  { request, reply, kind, to }: MailRequest, work: (tx: Transaction) => Promise<T>
): Promise<T> {
  const { server: app } = request
  const result = await withMinimumTime(() => app.db.transaction(async (tx) => {
    await countMail(tx, reply, KINDS[kind].mail, to)
    return await work(tx)
  }))
  app.mail.deliver()
  return result
}

export const EMAIL_CHANGE_KINDS = [
  'email_change_current', 'email_change_new', 'email_change_half'
] satisfies TokenKind[]

/** Sends mails to both addresses. The account keeps the old address until both have confirmed. */
export async function startEmailChange (
  app: FastifyInstance, tx: Transaction, user: User, email: string, target: LinkTarget
): Promise<User> {
  await deleteTokens(tx, user.id, EMAIL_CHANGE_KINDS)
  return await resendEmailChange(app, tx, await updateUser(tx, user.id, { new_email: email }), target)
}

export async function resendEmailChange (
  app: FastifyInstance, tx: Transaction, user: User, target: LinkTarget
): Promise<User> {
  const confirmed = await confirmedAddress(tx, user.id)
  const mails = [['email_change_current', user.email], ['email_change_new', user.new_email!]] as const
  let changed = user
  for (const [kind, to] of mails) if (to !== confirmed) changed = await sendLink(app, tx, user, kind, target, to)
  return changed
}

/**
 * Records the confirmation of one of the two addresses. After the second one the account has the new address, and the
 * links and codes of all its mails are void. Errors (otp_expired, email_exists) are returned, not thrown, so that the
 * transaction commits.
 * @param user the account's row. The lock on it lets concurrent confirmations run one after the other
 * @returns `waiting` while the other address has not confirmed
 */
export async function confirmEmailChange (
  tx: Transaction, { email, new_email }: UserRow, token: TokenRow
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
    // Another account has meanwhile taken the address.
    if (!(err instanceof AuthError) || err.code !== 'email_exists') throw err
    await updateUser(tx, user_id, { new_email: null })
    return err
  }
}
