import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { and, eq, isNull } from 'drizzle-orm'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { users } from '#drizzle/tables/identity.ts'
import { GrantBody, GrantQuery } from '#schemas/auth/requests.ts'
import { AuthSession } from '#schemas/auth/session.ts'
import { Ref } from '#schemas/common.ts'
import { normalizeEmail } from '../people/email.ts'
import { AuthError } from '../errors.ts'
import { needsRehash } from '../sign-in/passwords.ts'
import { beginSession, clientOf, refreshSession, sessionAnswer, type Begun } from '../sign-in/sessions.ts'
import { exchangeCode } from '../sign-in/flow-states.ts'
import { openProviderTokens } from '../oauth/provider-tokens.ts'
import { getUser, isBanned, lockUser, updateUser, type UserRow } from '../people/users.ts'
import { passwordAttempts } from './attempts.ts'
import type { ProviderOptions } from './routes.ts'

const tags = ['Provider di identità']

type Grant = (request: FastifyRequest, reply: FastifyReply, body: GrantBody) => Promise<AuthSession>

/** Signing in and staying so: the grants of `/token`. */
const tokenRoutes: FastifyPluginAsyncTypebox<ProviderOptions> = async (app, { config, keys }) => {
  const { db, identity: { passwords, signer, settled } } = app
  const countAttempt = passwordAttempts(app, { config, keys })

  const grants = new Map<string | undefined, Grant>([
    ['password', byPassword],
    ['refresh_token', byRefreshToken],
    ['pkce', byCode]
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
    { email, password = '' }: GrantBody
  ): Promise<AuthSession> {
    if (!email) throw new AuthError('validation_failed', { message: 'missing email or phone' })
    await countAttempt(request, reply, email)
    // One and the same question for everybody: not even the rest of a user's rows takes its time.
    const [account] = await db
      .select()
      .from(users)
      .where(and(eq(users.email, normalizeEmail(email)), isNull(users.deleted_at)))
    // Nobody's password is checked too, against a hash of its own: the time tells nothing.
    const isRight = await passwords.verify(account?.password_hash ?? null, password)
    const begun = account && isRight ? await begin(request, account, password) : new AuthError('invalid_credentials')
    if (begun instanceof AuthError) {
      const object = `account:${keys.fingerprint('audit/account', normalizeEmail(email)).toString('hex').slice(0, 16)}`
      await app.audit.append(db, {
        actor: 'anonimo',
        ip: request.ip,
        action: 'accesso_fallito',
        object,
        details: { reason: begun.code }
      })
      throw begun
    }
    return await sessionAnswer(signer, begun.user, begun.session)
  }

  /**
   * A session for who knows the password, unless they may not come in: invalid_credentials, user_banned,
   * email_not_confirmed.
   */
  async function begin (
    request: FastifyRequest,
    { id, password_hash }: UserRow,
    password: string
  ): Promise<Begun | AuthError> {
    const better = needsRehash(password_hash!) ? await passwords.hash(password) : undefined
    return await db.transaction(async (tx) => {
      // While the password was being checked the person may have changed.
      const present = await lockUser(tx, id)
      if (present?.password_hash !== password_hash) return new AuthError('invalid_credentials')
      if (isBanned(present.banned_until)) return new AuthError('user_banned', { status: 400 })
      if (present.email_confirmed_at === null) return new AuthError('email_not_confirmed')
      if (better !== undefined) await updateUser(tx, id, { password_hash: better })
      const session = await beginSession(tx, present, 'password', clientOf(request))
      const user = await getUser(tx, id)
      await app.audit.append(tx, {
        actor: `user:${id}`,
        ip: request.ip,
        action: 'accesso',
        object: `session:${session.id}`,
        details: { method: 'password' }
      })
      return { user, session }
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
    const begun = await db.transaction(async (tx) => {
      const state = await exchangeCode(tx, code, verifier)
      if (state instanceof AuthError) return state
      await lockUser(tx, state.user_id)
      const user = await getUser(tx, state.user_id)
      if (isBanned(user.banned_until)) return new AuthError('user_banned', { status: 400 })
      const { authentication_method: method, provider } = state
      const session = await beginSession(tx, user, method, clientOf(request), provider)
      await app.audit.append(tx, {
        actor: `user:${user.id}`,
        ip: request.ip,
        action: 'accesso',
        object: `session:${session.id}`,
        details: { method, provider }
      })
      return {
        user,
        session,
        tokens: state.provider_tokens === null ? {} : openProviderTokens(keys, state.id, state.provider_tokens)
      }
    })
    if (begun instanceof AuthError) throw begun
    return { ...(await sessionAnswer(signer, begun.user, begun.session)), ...begun.tokens }
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
      if (wasReused) await settled()
    }
  }
}
export default tokenRoutes
