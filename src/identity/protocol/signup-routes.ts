import { randomUUID } from 'node:crypto'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { Metadata } from '#drizzle/tables/identity.ts'
import { RedirectQuery, SignupBody } from '#schemas/auth/requests.ts'
import { AuthUser } from '#schemas/auth/user.ts'
import { Ref } from '#schemas/common.ts'
import type { Transaction } from '#src/plugins/database/connect.ts'
import { AuthError } from '../errors.ts'
import { storableMetadata } from '../people/metadata.ts'
import { presentUser } from '../people/present.ts'
import { isPending } from '../people/roles.ts'
import { requireStrongPassword } from '../sign-in/passwords.ts'
import { findUser, isBanned, type User } from '../people/find-users.ts'
import { createUser, updateUser } from '../people/users.ts'
import { requireAddress, type LinkTarget, type MailFlows } from './mail-flows.ts'
import type { ProtocolOptions } from './options.ts'

const tags = ['Provider di identità']

/** A person who signs up without an administrator waits for one to give them a role. */
const PENDING = { role: 'pending' }

interface NewAccount { email: string, password_hash?: string, user_metadata: Metadata }

/** Sign-up. Neither the answer nor its time tells whether the address has an account. */
const signupRoutes: FastifyPluginAsyncTypebox<ProtocolOptions> = async (app, { config, flows }) => {
  const { db, identity: { passwords } } = app

  app.route({
    method: 'POST',
    url: '/signup',
    config: { access: 'public' },
    schema: {
      operationId: 'authSignUp',
      tags,
      summary: 'Si registra',
      querystring: RedirectQuery,
      body: SignupBody,
      response: { 200: Ref(AuthUser) }
    },
    handler: async (request, reply) => {
      const {
        body,
        query: { redirect_to }
      } = request
      if (!body.email && !body.phone) throw new AuthError('anonymous_provider_disabled')
      if (!config.SIGNUP_ENABLED) throw new AuthError('signup_disabled')
      flows.requireMail()
      const email = requireAddress(body)
      if (!body.password) throw new AuthError('validation_failed', { message: 'Signup requires a valid password' })
      requireStrongPassword(body.password, email)
      const user_metadata = storableMetadata(body.data ?? {})
      const target = flows.linkTarget(redirect_to, body)

      const { password_hash: knownHash = null } = (await findUser(db, { email })) ?? {}
      const [password_hash, isSamePassword] = await Promise.all([
        passwords.hash(body.password),
        passwords.verify(knownHash, body.password)
      ])
      const created = await flows.runUniformly(request, reply, 'signup', email, async (tx) => {
        const known = await findUser(tx, { email })
        if (!known) return await signUp(tx, request, flows, { email, password_hash, user_metadata }, 'signup', target)
        await repeatSignUp(tx, request, known, isSamePassword, target)
        return undefined
      })
      return presentSignup({ email, user_metadata }, created)
    }
  })

  /**
   * A second sign-up for an account that waits for its confirmation. Either of the two may be a stranger's: a different
   * password removes the first one, and the person who opens the mail sets a new one. Otherwise a stranger who came
   * first (or last) would have the password to the account.
   */
  async function repeatSignUp (
    tx: Transaction,
    request: FastifyRequest,
    known: User,
    isSamePassword: boolean,
    target: LinkTarget
  ): Promise<void> {
    if (known.email_confirmed_at !== null || isBanned(known.banned_until)) return
    if (isPending(known.app_metadata) && !isSamePassword) await updateUser(tx, known.id, { password_hash: null })
    await flows.send(tx, known, 'signup', target)
    await flows.audit(tx, request, 'email', known, { kind: 'signup' })
  }
}
export default signupRoutes

/**
 * Creates an account and sends the mail that proves its address; undefined when another request has created it first.
 */
export async function signUp (
  tx: Transaction,
  request: FastifyRequest,
  flows: MailFlows,
  account: NewAccount,
  kind: 'signup' | 'magiclink',
  target: LinkTarget
): Promise<User | undefined> {
  try {
    const user = await createUser(tx, { ...account, confirmed: false, app_metadata: PENDING })
    const sent = await flows.send(tx, user, kind, target)
    await flows.audit(tx, request, 'utente_creato', user, { role: PENDING.role })
    await flows.audit(tx, request, 'email', user, { kind })
    return sent
  } catch (err) {
    if (err instanceof AuthError && err.code === 'email_exists') return undefined
    throw err
  }
}

/**
 * The answer to a sign-up, made from the request: it has the same form whether an account was created or not.
 */
function presentSignup ({ email, user_metadata }: NewAccount, created: User | undefined): AuthUser {
  const now = new Date()
  const id = created?.id ?? randomUUID()
  const times = { created_at: now, updated_at: now }
  return presentUser({
    id,
    email,
    password_hash: null,
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
    ...times
  })
}
