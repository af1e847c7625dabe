import { randomUUID } from 'node:crypto'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Metadata } from '#drizzle/tables/identity.ts'
import { RedirectQuery, SignupBody } from '#schemas/auth/requests.ts'
import { AuthUser } from '#schemas/auth/user.ts'
import { Ref } from '#schemas/common.ts'
import type { Transaction } from '#src/database/connect.ts'
import { route } from '../provider-route.ts'
import { AuthError, validationFailed } from '../errors.ts'
import { storableMetadata } from '../people/metadata.ts'
import { presentUser } from '../people/presenters.ts'
import { hasPendingRole } from '../people/roles.ts'
import { browserCookie } from '../sign-in/browser-cookie.ts'
import { requireStrongPassword } from '../sign-in/passwords.ts'
import { findUser, isBanned, type User } from '../people/find-users.ts'
import { lockUser } from '../people/people-locks.ts'
import { createUser, updateUser } from '../people/users.ts'
import { record } from '../audit-record.ts'
import {
  linkTarget, requireAddress, requireMail, runUniformly, sendLink, sendOnRecord, type LinkTarget
} from './mail-flows.ts'
import { admitMail } from './request-limits.ts'

/** A user who signs up without an invitation waits until an administrator assigns a role. */
const PENDING = { role: 'pending' }

interface NewAccount { email: string, password_hash?: string, password_browser?: Buffer, user_metadata: Metadata }

const signupRoutes: FastifyPluginAsyncTypebox = async (app) => {
  app.post('/signup', route(
    { access: 'public', headers: { sends: { 'Set-Cookie': [200] } } }, 'authSignUp', 'Si registra', {
      querystring: RedirectQuery, body: SignupBody, response: { 200: Ref(AuthUser) }
    }
  ), async (request, reply) => await answerSignUp(request, reply, request.body, request.query.redirect_to))
}
export default signupRoutes

async function answerSignUp (
  request: FastifyRequest, reply: FastifyReply, body: Static<typeof SignupBody>, redirectTo: string | undefined
): Promise<AuthUser> {
  const { server: app } = request
  const { config, passwords } = app.identity
  if (!body.email && !body.phone) throw new AuthError('anonymous_provider_disabled')
  if (!config.SIGNUP_ENABLED) throw new AuthError('signup_disabled')
  if (!body.email) throw new AuthError('phone_provider_disabled', { message: 'Phone signups are disabled' })
  requireMail(app)
  const email = requireAddress(body)
  if (!body.password) throw validationFailed('Signup requires a valid password')
  requireStrongPassword(body.password, email)
  const user_metadata = storableMetadata(body.data ?? {})
  const target = linkTarget(config, redirectTo, body)

  // Check before the hash is computed, so that a caller above the limit does not delay others.
  await admitMail(request, reply, 'signup', email)
  const password_hash = await passwords.hash(body.password, { order: 'later', reply })
  const browser = browserCookie(config).remember(request)
  const account = { email, password_hash, password_browser: browser.digest, user_metadata }
  const created = await runUniformly({ request, reply, kind: 'signup', to: email }, async (tx) => {
    const known = await findUser(tx, { email })
    if (!known) return await signUp(tx, request, account, 'signup', { ...target, password_hash })
    await repeatSignUp(tx, request, known, account, target)
    return undefined
  })
  browser.giveCookie(reply)
  return presentSignup(account, created)
}

/**
 * Repeats the sign-up of an unconfirmed account. Either sign-up may be a stranger's. The later one replaces the
 * password and voids the earlier mail. The password is valid only if the same browser, or the same client with PKCE,
 * confirms the address.
 */
async function repeatSignUp (
  tx: Transaction,
  request: FastifyRequest,
  { id }: User,
  { password_hash, password_browser }: NewAccount,
  target: LinkTarget
): Promise<void> {
  // Lock the person, because another request may be confirming the address. Then the password stays unchanged.
  const known = await lockUser(tx, id)
  if (!known || known.email_confirmed_at !== null || isBanned(known.banned_until)) return
  const chosen = hasPendingRole(known.app_metadata) ? { password_hash, password_browser } : {}
  const changed = await updateUser(tx, id, chosen)
  await sendOnRecord(tx, request, changed, 'signup', { ...target, password_hash: chosen.password_hash })
}

/** Creates an account and mails a confirmation. Undefined when another request has created it first. */
export async function signUp (
  tx: Transaction, request: FastifyRequest, account: NewAccount, kind: 'signup' | 'magiclink', target: LinkTarget
): Promise<User | undefined> {
  try {
    const user = await createUser(tx, { ...account, confirmed: false, app_metadata: PENDING })
    const sent = await sendLink(request.server, tx, user, kind, target)
    await record(tx, request, 'utente_creato', `user:${user.id}`, PENDING)
    await record(tx, request, 'email', `user:${user.id}`, { kind })
    return sent
  } catch (err) {
    if (err instanceof AuthError && err.code === 'email_exists') return undefined
    throw err
  }
}

/** The response to a sign-up, built from the request. It has the same form whether or not an account was created. */
function presentSignup ({ email, user_metadata }: NewAccount, created: User | undefined): AuthUser {
  const now = new Date()
  const id = created?.id ?? randomUUID()
  const times = { created_at: now, updated_at: now }
  return presentUser({
    id,
    email,
    password_hash: null,
    password_printed: false,
    password_browser: null,
    email_confirmed_at: null,
    invited_at: null,
    confirmation_sent_at: now,
    recovery_sent_at: null,
    new_email: null,
    email_change_sent_at: null,
    reauthentication_sent_at: null,
    last_sign_in_at: null,
    app_metadata: { provider: 'email', providers: ['email'], ...PENDING },
    user_metadata,
    banned_until: null,
    deleted_at: null,
    identities: [{
      id: created?.identities[0]?.id ?? randomUUID(),
      user_id: id,
      provider: 'email',
      provider_id: id,
      identity_data: { sub: id, email, email_verified: false, phone_verified: false },
      last_sign_in_at: now,
      ...times
    }],
    factors: [],
    ...times
  })
}
