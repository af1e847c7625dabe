import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { and, eq, isNull } from 'drizzle-orm'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { users } from '#drizzle/tables/identity.ts'
import { GrantBody, GrantQuery } from '#schemas/auth/requests.ts'
import { AuthSession } from '#schemas/auth/session.ts'
import { Ref } from '#schemas/common.ts'
import type { Transaction } from '#src/database/connect.ts'
import { accountFingerprint, normalizeEmail } from '../people/email.ts'
import { AuthError } from '../errors.ts'
import { needsRehash } from '../sign-in/passwords.ts'
import { refreshSession } from '../sign-in/refresh.ts'
import { takeOver } from '../sign-in/handover.ts'
import { sessionAnswer } from '../sign-in/session-answer.ts'
import { beginSession, clientOf, type SignedIn } from '../sign-in/sessions.ts'
import { exchangeCode, type FlowState } from '../sign-in/flow-states.ts'
import { linkIdentity } from '../oauth/accounts.ts'
import { unsealForClient, type KeptForClient } from '../oauth/provider-tokens.ts'
import { isBanned, type UserRow } from '../people/find-users.ts'
import { lockUser } from '../people/locks.ts'
import { updateUser } from '../people/users.ts'
import { idTokenGrant } from './id-token-grant.ts'
import { passwordLimits } from './password-limits.ts'
import type { ProtocolOptions } from './options.ts'

const tags = ['Provider di identità']

const NOTHING_KEPT: KeptForClient = { tokens: {} }

type Grant = (request: FastifyRequest, reply: FastifyReply, body: GrantBody) => Promise<AuthSession>

/** The grants of `/token`: signing in, and refreshing a session. */
const tokenRoutes: FastifyPluginAsyncTypebox<ProtocolOptions> = async (app, options) => {
  const { config, keys } = options
  const { db, identity: { passwords, signer, waitForListeners } } = app
  const countPasswordTry = passwordLimits(app, { config }, 'sign-in')

  const grants = new Map<string | undefined, Grant>([
    ['password', byPassword],
    ['refresh_token', byRefreshToken],
    ['pkce', byCode],
    ['id_token', idTokenGrant(app, options)],
    ['web3', async () => { throw new AuthError('web3_provider_disabled') }]
  ])

  app.route({
    method: 'POST',
    url: '/token',
    config: { access: 'public' },
    schema: {
      operationId: 'authToken',
      tags,
      summary: 'Accede, rinnova o scambia un codice',
      querystring: GrantQuery,
      body: GrantBody,
      response: { 200: Ref(AuthSession) }
    },
    handler: async (request, reply) => {
      const grant = grants.get(request.query.grant_type)
      if (!grant) throw new AuthError('invalid_credentials', { message: 'unsupported_grant_type' })
      return await grant(request, reply, request.body)
    }
  })

  async function byPassword (
    request: FastifyRequest,
    reply: FastifyReply,
    { email, phone, password = '' }: GrantBody
  ): Promise<AuthSession> {
    if (email && phone) {
      throw new AuthError('validation_failed', {
        message: 'Only an email address or phone number should be provided on login.'
      })
    }
    if (phone) throw new AuthError('phone_provider_disabled', { status: 422, message: 'Phone logins are disabled' })
    if (!email) throw new AuthError('validation_failed', { message: 'missing email or phone' })
    await countPasswordTry(request, reply, email)
    // One query, the same for every address: reading more rows for an account that exists would take longer.
    const [account] = await db
      .select()
      .from(users)
      .where(and(eq(users.email, normalizeEmail(email)), isNull(users.deleted_at)))
    // Without an account a password is checked, too, against a dummy hash: the time does not tell the difference.
    const isRight = await passwords.verify(account?.password_hash ?? null, password)
    const signedIn = account && isRight
      ? await signInWithPassword(request, account, password)
      : new AuthError('invalid_credentials')
    if (signedIn instanceof AuthError) {
      await app.audit.append(db, {
        actor: 'anonimo',
        ip: request.ip,
        action: 'accesso_fallito',
        object: `account:${accountFingerprint(keys, email)}`,
        details: { reason: signedIn.code }
      })
      throw signedIn
    }
    return await sessionAnswer(signer, signedIn.user, signedIn.session)
  }

  /**
   * Begins a session after a right password. Returns invalid_credentials, user_banned or email_not_confirmed where the
   * person may not sign in.
   */
  async function signInWithPassword (
    request: FastifyRequest,
    { id, password_hash }: UserRow,
    password: string
  ): Promise<SignedIn | AuthError> {
    const stronger = needsRehash(password_hash!) ? await passwords.hash(password) : undefined
    return await db.transaction(async (tx) => {
      // The person may have changed while the password was being checked.
      const present = await lockUser(tx, id)
      if (present?.password_hash !== password_hash) return new AuthError('invalid_credentials')
      if (isBanned(present.banned_until)) return new AuthError('user_banned', { status: 400 })
      if (present.email_confirmed_at === null) return new AuthError('email_not_confirmed')
      if (stronger !== undefined) await updateUser(tx, id, { password_hash: stronger })
      const signedIn = await beginSession(tx, present, 'password', clientOf(request))
      await app.audit.append(tx, {
        actor: `user:${id}`,
        ip: request.ip,
        action: 'accesso',
        object: `session:${signedIn.session.id}`,
        details: { method: 'password' }
      })
      return signedIn
    })
  }

  async function byCode (
    request: FastifyRequest,
    _reply: FastifyReply,
    { auth_code: code = '', code_verifier: verifier = '' }: GrantBody
  ): Promise<AuthSession> {
    if (code === '' || verifier === '') {
      throw new AuthError('validation_failed', {
        message: 'invalid request: both auth code and code verifier should be non-empty'
      })
    }
    const result = await db.transaction(async (tx) => {
      const state = await exchangeCode(tx, code, verifier)
      if (state instanceof AuthError) return state
      const { tokens, linking, handover } =
        state.provider_tokens === null ? NOTHING_KEPT : unsealForClient(keys, state.id, state.provider_tokens)
      const problem = linking && (await link(tx, state, linking))
      if (problem) return problem
      const person = await lockUser(tx, state.user_id)
      if (!person) throw new AuthError('user_not_found')
      if (isBanned(person.banned_until)) return new AuthError('user_banned', { status: 400 })
      // The client that signed up has ended its own flow: the password that it chose is this person's.
      if (state.password_hash !== null && person.password_hash === null) {
        await updateUser(tx, person.id, { password_hash: state.password_hash })
      }
      const { authentication_method: method, provider } = state
      const begun = handover
        ? await takeOver(tx, person.id, handover, clientOf(request))
        : await beginSession(tx, person, method, clientOf(request), provider)
      if (begun instanceof AuthError) return begun
      const { user, session } = begun
      const author = { actor: `user:${user.id}`, ip: request.ip }
      if (linking) {
        const details = { provider, automatic: false }
        await app.audit.append(tx, { ...author, action: 'identita_collegata', object: `user:${user.id}`, details })
      }
      await app.audit.append(tx, {
        ...author,
        action: 'accesso',
        object: `session:${session.id}`,
        details: { method, provider }
      })
      return { user, session, tokens }
    })
    if (result instanceof AuthError) throw result
    return { ...(await sessionAnswer(signer, result.user, result.session)), ...result.tokens }
  }

  /** An error is returned, so that the code is used up. */
  async function link (
    tx: Transaction,
    { provider, user_id }: Pick<FlowState, 'provider'> & { user_id: string },
    { profile, session_id }: NonNullable<KeptForClient['linking']>
  ): Promise<AuthError | undefined> {
    try {
      await linkIdentity(tx, { provider, profile }, user_id, session_id)
      return undefined
    } catch (err) {
      if (err instanceof AuthError) return err
      throw err
    }
  }

  async function byRefreshToken (
    request: FastifyRequest,
    _reply: FastifyReply,
    { refresh_token: token = '' }: GrantBody
  ): Promise<AuthSession> {
    if (token === '') throw new AuthError('refresh_token_not_found')
    let wasReused = false
    try {
      const { user, session } = await refreshSession(
        db,
        signer.refreshSecret,
        token,
        clientOf(request),
        async (tx, session) => {
          wasReused = true
          const details = { reason: 'refresh_token_reused' }
          await app.audit.append(tx, {
            actor: 'sistema',
            ip: request.ip,
            action: 'sessioni_revocate',
            object: `session:${session.id}`,
            details
          })
        }
      )
      return await sessionAnswer(signer, user, session)
    } finally {
      if (wasReused) await waitForListeners()
    }
  }
}
export default tokenRoutes
