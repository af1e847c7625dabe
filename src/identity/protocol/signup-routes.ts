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
import { strongPassword } from '../sign-in/strong-password.ts'
import { createUser, findUser, isBanned, updateUser, type User } from '../people/users.ts'
import { addressOf, type MailFlows, type Way } from './mail-flows.ts'
import type { ProviderOptions } from './routes.ts'

const tags = ['Provider di identità']

/** Who signs up alone waits for an administrator; `user_metadata` is all that they say of themselves. */
const PENDING = { role: 'pending' }

interface Newcomer { email: string, password_hash?: string, user_metadata: Metadata }

/** Signing up. What is answered, and how long that takes, does not tell whether the address has an account. */
const signupRoutes: FastifyPluginAsyncTypebox<ProviderOptions> = async (app, { config, flows }) => {
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
      flows.required()
      const email = addressOf(body)
      if (!body.password) throw new AuthError('validation_failed', { message: 'Signup requires a valid password' })
      strongPassword(body.password, email)
      const user_metadata = storableMetadata(body.data ?? {})
      const way = flows.way(redirect_to, body)

      const { password_hash: theirs = null } = (await findUser(db, { email })) ?? {}
      const [password_hash, isTheirs] = await Promise.all([
        passwords.hash(body.password),
        passwords.verify(theirs, body.password)
      ])
      const created = await flows.alike(request, reply, 'signup', email, async (tx) => {
        const known = await findUser(tx, { email })
        if (!known) return await signUp(tx, request, flows, { email, password_hash, user_metadata }, 'signup', way)
        await signUpAgain(tx, request, known, isTheirs, way)
        return undefined
      })
      return looks({ email, user_metadata }, created)
    }
  })

  /**
   * Of an account that waits for its confirmation nobody knows who is right: a second password does away with the first
   * one, and whoever opens the mail sets theirs. Otherwise a stranger who came first (or last) would have the password
   * to somebody else's account.
   */
  async function signUpAgain (
    tx: Transaction,
    request: FastifyRequest,
    known: User,
    isTheirs: boolean,
    way: Way
  ): Promise<void> {
    if (known.email_confirmed_at !== null || isBanned(known.banned_until)) return
    if (isPending(known.app_metadata) && !isTheirs) await updateUser(tx, known.id, { password_hash: null })
    await flows.send(tx, known, 'signup', way)
    await flows.note(tx, request, 'email', known, { kind: 'signup' })
  }
}
export default signupRoutes

/**
 * An account of somebody who came alone, and the mail that proves its address; undefined when another request was
 * faster.
 */
export async function signUp (
  tx: Transaction, request: FastifyRequest, flows: MailFlows, newcomer: Newcomer, kind: 'signup' | 'magiclink', way: Way
): Promise<User | undefined> {
  try {
    const user = await createUser(tx, { ...newcomer, confirmed: false, app_metadata: PENDING })
    const sent = await flows.send(tx, user, kind, way)
    await flows.note(tx, request, 'utente_creato', user, { role: PENDING.role })
    await flows.note(tx, request, 'email', user, { kind })
    return sent
  } catch (err) {
    if (err instanceof AuthError && err.code === 'email_exists') return undefined
    throw err
  }
}

/**
 * The user that is answered, made from the request: it looks the same when there is a new account and when there is
 * none.
 */
function looks ({ email, user_metadata }: Newcomer, created: User | undefined): AuthUser {
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
