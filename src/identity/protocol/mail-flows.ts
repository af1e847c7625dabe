import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { authorOf } from '#src/plugins/audit/log.ts'
import type { Executor, Transaction } from '#src/plugins/database/connect.ts'
import type { AuditAction } from '#src/plugins/audit/actions.ts'
import { plainAddress } from '#src/plugins/mail/address.ts'
import { isEmail, normalizeEmail } from '../people/email.ts'
import { AuthError } from '../errors.ts'
import { beginFlow, challengeOf, safeRedirect } from '../sign-in/flow-states.ts'
import { composeMail, type MailKind } from '../sign-in/mails.ts'
import { issueToken, type Secrets, type TokenKind } from '../sign-in/one-time-tokens.ts'
import { updateUser, type User, type UserChange } from '../people/users.ts'
import { mailLimits, unhurried, type MailLimits } from './mail-limits.ts'
import type { ProviderOptions } from './routes.ts'

/** Kinds that are sent; the others only mark what was proven. */
export type SentKind = Exclude<TokenKind, 'email_change_half'>
export type Challenge = ReturnType<typeof challengeOf>

/**
 * What each kind is called in links and mails, how whoever proves it has signed in, and where it is noted that it was
 * sent.
 */
const KINDS: Readonly<
  Record<SentKind, { mail: MailKind; method: string; sentAt: keyof UserChange & `${string}_sent_at` }>
> = {
  signup: { mail: 'signup', method: 'otp', sentAt: 'confirmation_sent_at' },
  invite: { mail: 'invite', method: 'invite', sentAt: 'confirmation_sent_at' },
  recovery: { mail: 'recovery', method: 'recovery', sentAt: 'recovery_sent_at' },
  magiclink: { mail: 'magiclink', method: 'magiclink', sentAt: 'recovery_sent_at' },
  email_change_current: { mail: 'email_change', method: 'otp', sentAt: 'email_change_sent_at' },
  email_change_new: { mail: 'email_change', method: 'otp', sentAt: 'email_change_sent_at' },
  reauthentication: { mail: 'reauthentication', method: 'otp', sentAt: 'reauthentication_sent_at' }
}

/** How somebody has signed in who has proven this. */
export function methodOf (kind: TokenKind): string {
  return kind === 'email_change_half' ? 'otp' : KINDS[kind].method
}

/** Where the link of a mail leads in the end, and the client (PKCE) that is to get the session then. */
export interface Way { redirectTo: string, challenge?: Challenge }

export interface Issued extends Secrets {
  user: User
  /** The link to follow. */
  url: string
}

/** What of an account goes by mail. */
export interface MailFlows extends MailLimits {
  /** Before anything is looked up, so that it is the same for everybody. @throws AuthError email_provider_disabled */
  required(): void
  /** @throws AuthError validation_failed, for half a challenge */
  way(redirectTo: string | undefined, challenge: Parameters<typeof challengeOf>[0]): Way
  /** Makes the secrets of a kind and notes that they were; `to` is the account's own address unless it is said. */
  issue(tx: Transaction, user: User, kind: SentKind, way: Way, to?: string): Promise<Issued>
  /** The same, and by mail. `app.mail.deliver()` is to follow the commit. */
  send(tx: Transaction, user: User, kind: SentKind, way: Way, to?: string): Promise<User>
  /** Writes down what was done with an account; the transaction's last statements. */
  note(
    tx: Executor,
    request: FastifyRequest,
    action: AuditAction,
    user: User,
    details?: Record<string, string | boolean | string[]>
  ): Promise<void>
  /** Counts, does the work, sends: for requests that are answered alike whether the address is known or not. */
  alike<T>(
    request: FastifyRequest,
    reply: FastifyReply,
    kind: MailKind,
    address: string,
    work: (tx: Transaction) => Promise<T>
  ): Promise<T>
}

/** The one spelling of an address that can be written to. @throws AuthError validation_failed */
export function addressOf ({ email, phone }: { email?: string, phone?: string }): string {
  if (phone) throw new AuthError('validation_failed', { message: 'Phone numbers are not supported' })
  if (!email) throw new AuthError('validation_failed', { message: 'An email address is required' })
  const address = normalizeEmail(email)
  if (!isEmail(address) || plainAddress(address) === undefined) {
    throw new AuthError('validation_failed', { message: 'Unable to validate email address: invalid format' })
  }
  return address
}

export function mailFlows (app: FastifyInstance, { config, keys }: Omit<ProviderOptions, 'flows'>): MailFlows {
  const limits = mailLimits(app, { config, keys })

  async function issue (
    tx: Transaction,
    user: User,
    kind: SentKind,
    { redirectTo, challenge }: Way,
    to = user.email
  ): Promise<Issued> {
    const { mail, method, sentAt } = KINDS[kind]
    const flow = challenge?.code_challenge
      ? await beginFlow(tx, { provider: 'email', ...challenge, redirect_to: redirectTo, authentication_method: method })
      : undefined
    const changed = await updateUser(tx, user.id, { [sentAt]: new Date() })
    const secrets = await issueToken(tx, keys, { user_id: user.id, kind, sent_to: to, flow_state_id: flow?.id })
    const query = new URLSearchParams({ token: secrets.link, type: mail, redirect_to: redirectTo })
    return { ...secrets, user: changed, url: `${config.PUBLIC_URL}/auth/v1/verify?${query.toString()}` }
  }

  return {
    ...limits,
    issue,
    required () {
      if (!app.mail.configured) throw new AuthError('email_provider_disabled')
    },
    way: (redirectTo, challenge) => ({
      redirectTo: new URL(safeRedirect(config, redirectTo)).href,
      challenge: challengeOf(challenge)
    }),
    async send (tx, user, kind, way, to = user.email) {
      const { user: changed, url, code } = await issue(tx, user, kind, way, to)
      const { mail } = KINDS[kind]
      const email = mail === 'email_change' ? (user.new_email ?? undefined) : user.email
      await app.mail.enqueue(tx, { to, ...composeMail(mail, { link: url, code, email }) })
      return changed
    },
    async note (tx, request, action, user, details) {
      await app.audit.append(tx, { ...authorOf(request), action, object: `user:${user.id}`, details })
    },
    async alike (request, reply, kind, address, work) {
      await limits.mail(request, reply, kind, address)
      const result = await unhurried(() => app.db.transaction(work))
      app.mail.deliver()
      return result
    }
  }
}
