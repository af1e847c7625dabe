import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { TokenKind } from '#schemas/auth/one-time-token.ts'
import type { AuditAction } from '#schemas/audit.ts'
import { authorOf } from '#src/services/audit/log.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { plainAddress } from '#src/services/mail/address.ts'
import { AuthError } from '../errors.ts'
import type { IdentityOptions } from '../options.ts'
import { languageOfPerson } from '../languages.ts'
import { isEmail, normalizeEmail } from '../people/email.ts'
import type { User } from '../people/find-users.ts'
import { updateUser, type UserChange } from '../people/users.ts'
import { createFlow, readChallenge, type Challenge, type ChallengeParameters } from '../sign-in/flow-states.ts'
import { composeMail, type MailKind } from '../sign-in/mails.ts'
import { confirmPageLink } from '../sign-in/mail-page.ts'
import { issueToken, type TokenSecrets } from '../sign-in/one-time-tokens.ts'
import { allowedRedirect } from '../sign-in/redirects.ts'
import { mailLimits, withMinimumTime, type MailLimits } from './mail-limits.ts'
import { rehearse } from './rehearsal.ts'

/** The kinds that are sent by mail. The other one only marks that an address has confirmed. */
export type SentKind = Exclude<TokenKind, 'email_change_half'>

/**
 * The mail of each kind, the method by which a person has signed in whose client exchanges the code of its link (PKCE),
 * and the field with the time at which it was sent.
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

/** The address that a mail's link leads to in the end, and the challenge of the client that is to get the session. */
export interface LinkTarget {
  redirectTo: string
  /** The client has not said where to, nor does it wait for a code. */
  isOpen: boolean
  challenge?: Challenge
  /** The password of a sign-up: that client may end the flow with it. */
  password_hash?: string
}

export interface IssuedLink extends TokenSecrets {
  user: User
  /** The link that the person opens. */
  url: string
}

/** A request for a mail. Its address has an account or not. */
export interface MailRequest {
  request: FastifyRequest
  reply: FastifyReply
  kind: SentKind
  to: string
  target: LinkTarget
}

/** The mails about an account, and the flows that their links belong to. */
export interface MailFlows extends MailLimits {
  /** Called before any look-up, so that the answer is the same for every address. @throws email_provider_disabled */
  requireMail (): void
  /** @throws AuthError validation_failed, for a part of a challenge or a malformed one */
  linkTarget (redirectTo: string | undefined, challenge: ChallengeParameters): LinkTarget
  /** Makes the link and code of a kind and writes the time; `to` is by default the account's own address. */
  issue (tx: Transaction, user: User, kind: SentKind, target: LinkTarget, to?: string): Promise<IssuedLink>
  /** Makes them and sends them by mail. The caller calls `app.mail.deliver()` after the commit. */
  send (tx: Transaction, user: User, kind: SentKind, target: LinkTarget, to?: string): Promise<User>
  /** Writes what was done with an account to the audit log; the last statements of the transaction. */
  audit (
    tx: Executor,
    request: FastifyRequest,
    action: AuditAction,
    user: User,
    details?: Record<string, string | number | boolean | string[]>
  ): Promise<void>
  /**
   * Counts the mail, does the work and delivers, in the same time whether the address has an account or not. Where a
   * mail cannot be written down, it fails for every address. The caller has admitted the mail.
   * @throws AuthError over_email_send_rate_limit
   */
  runUniformly<T> (asked: MailRequest, work: (tx: Transaction) => Promise<T>): Promise<T>
}

/**
 * The normalized form of an address that mail can be sent to.
 * @throws AuthError validation_failed, phone_provider_disabled
 */
export function requireAddress ({ email, phone }: { email?: string, phone?: string }): string {
  if (email && phone) {
    throw new AuthError('validation_failed', { message: 'Only an email address or phone number should be provided' })
  }
  if (phone) throw new AuthError('phone_provider_disabled')
  if (!email) throw new AuthError('validation_failed', { message: 'An email address is required' })
  const address = normalizeEmail(email)
  if (!isEmail(address) || plainAddress(address) === undefined) {
    throw new AuthError('validation_failed', { message: 'Unable to validate email address: invalid format' })
  }
  return address
}

export function mailFlows (app: FastifyInstance, { config, keys }: IdentityOptions): MailFlows {
  const limits = mailLimits(app, { config })

  /**
   * Whether a mail leads to the pages of this server: an invitation and a recovery, where a password is to be chosen;
   * the others where there is no front end.
   */
  function leadsToPages (kind: SentKind, { isOpen }: LinkTarget): boolean {
    return isOpen && (kind === 'invite' || kind === 'recovery' || config.CORS_ORIGINS.length === 0)
  }

  async function issue (
    tx: Transaction,
    user: User,
    kind: SentKind,
    { redirectTo, challenge, password_hash }: LinkTarget,
    to = user.email
  ): Promise<IssuedLink> {
    const { mail, method, sentAt } = KINDS[kind]
    const flow = challenge?.code_challenge
      ? await createFlow(tx, {
        provider: 'email',
        ...challenge,
        password_hash,
        redirect_to: redirectTo,
        authentication_method: method
      })
      : undefined
    const changed = await updateUser(tx, user.id, { [sentAt]: new Date() })
    const secrets = await issueToken(tx, keys, { user_id: user.id, kind, sent_to: to, flow_state_id: flow?.id })
    const query = new URLSearchParams({ token: secrets.link, type: mail, redirect_to: redirectTo })
    return { ...secrets, user: changed, url: `${config.PUBLIC_URL}/auth/v1/verify?${query.toString()}` }
  }

  async function send (
    tx: Transaction, user: User, kind: SentKind, target: LinkTarget, to = user.email
  ): Promise<User> {
    const { user: changed, url, link: token, code } = await issue(tx, user, kind, target, to)
    const { mail } = KINDS[kind]
    const link = leadsToPages(kind, target) ? confirmPageLink(config, token, mail) : url
    const email = mail === 'email_change' ? (user.new_email ?? undefined) : user.email
    await app.mail.enqueue(tx, { to, ...composeMail(mail, { link, code, email }, languageOfPerson(user)) })
    return changed
  }

  const audit: MailFlows['audit'] = async (tx, request, action, user, details) => {
    await app.audit.append(tx, { ...authorOf(request), action, object: `user:${user.id}`, details })
  }

  return {
    ...limits,
    issue,
    send,
    audit,
    requireMail () {
      if (!app.mail.configured) throw new AuthError('email_provider_disabled')
    },
    linkTarget (redirectTo, parameters) {
      const challenge = readChallenge(parameters)
      return {
        redirectTo: new URL(allowedRedirect(config, redirectTo)).href,
        isOpen: !redirectTo && challenge.code_challenge === null,
        challenge
      }
    },
    async runUniformly ({ request, reply, kind, to, target }, work) {
      const result = await withMinimumTime(() => app.db.transaction(async (tx) => {
        await limits.countMail(tx, reply, KINDS[kind].mail, to)
        await rehearse(tx, async (inner, ghost) => {
          await send(inner, ghost, kind, target)
          // A second time: a person who was sent a mail of this kind before has its token replaced, by an update.
          await issue(inner, ghost, kind, target)
          await audit(inner, request, 'email', ghost, { kind })
        })
        return await work(tx)
      }))
      app.mail.deliver()
      return result
    }
  }
}
