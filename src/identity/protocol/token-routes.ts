import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { and, eq, isNull } from 'drizzle-orm'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { users } from '#drizzle/tables/identity.ts'
import { GrantBody, GrantQuery } from '#schemas/auth/requests.ts'
import { AuthSession } from '#schemas/auth/session.ts'
import { Ref } from '#schemas/common.ts'
import type { Transaction } from '#src/database/connect.ts'
import { limitConcurrencyByCaller } from '#src/lib/concurrency-limit.ts'
import { route } from '../provider-route.ts'
import { accountFingerprint, normalizeEmail } from '../people/email.ts'
import { AuthError, PRINTED_PASSWORD, validationFailed } from '../errors.ts'
import { needsRehash } from '../sign-in/passwords.ts'
import { acceptTokenHandover } from '../sign-in/token-handover.ts'
import { sessionResponse } from '../sign-in/session-response.ts'
import { beginSession, clientOf, type SignedIn } from '../sign-in/person-sessions.ts'
import { exchangeCode, type FlowState } from '../sign-in/flow-states.ts'
import { linkIdentity } from '../oauth/accounts.ts'
import { unsealForClient, type KeptForClient, type ProviderTokens } from '../oauth/flow-secrets.ts'
import { isBanned, type UserRow } from '../people/find-users.ts'
import { lockUser } from '../people/people-locks.ts'
import { updateUser } from '../people/users.ts'
import { record, recordOf } from '../audit-record.ts'
import { byIdToken } from './id-token-grant.ts'
import { byRefreshToken } from './refresh-grant.ts'
import { countPasswordAttempt } from './request-limits.ts'

type Grant = (request: FastifyRequest, reply: FastifyReply, body: GrantBody) => Promise<AuthSession>

/** Maximum concurrent password sign-ins. Further ones wait before their first query, to spare the database. */
const SIGN_INS = { total: 16, perCaller: 4 }

const tokenRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const acquireSlot = limitConcurrencyByCaller(SIGN_INS)
  const grants = new Map<string | undefined, Grant>([
    ['password', async (request, reply, body) => await byPassword(request, reply, body, acquireSlot)],
    ['refresh_token', byRefreshToken],
    ['pkce', byCode],
    ['id_token', byIdToken],
    ['web3', async () => { throw new AuthError('web3_provider_disabled') }]
  ])

  app.post('/token', route({ access: 'public' }, 'authToken', 'Accede, rinnova o scambia un codice', {
    querystring: GrantQuery, body: GrantBody, response: { 200: Ref(AuthSession) }
  }), async (request, reply) => {
    const grant = grants.get(request.query.grant_type)
    if (!grant) throw new AuthError('invalid_credentials', { message: 'unsupported_grant_type' })
    return await grant(request, reply, request.body)
  })
}
export default tokenRoutes

async function byPassword (
  request: FastifyRequest,
  reply: FastifyReply,
  { email, phone, password = '' }: GrantBody,
  acquireSlot: (caller: FastifyRequest) => Promise<() => void>
): Promise<AuthSession> {
  if (email && phone) throw validationFailed('Only an email address or phone number should be provided on login.')
  if (phone) throw new AuthError('phone_provider_disabled', { status: 422, message: 'Phone logins are disabled' })
  if (!email) throw validationFailed('missing email or phone')
  const release = await acquireSlot(request)
  let pauseMs = 0
  try {
    pauseMs = await countPasswordAttempt(request, reply, 'sign-in', email)
    return await checkPassword(request, reply, email, password)
  } finally {
    release()
    await sleep(pauseMs)
  }
}

async function checkPassword (
  request: FastifyRequest, reply: FastifyReply, email: string, password: string
): Promise<AuthSession> {
  const { db, identity: { keys, passwords, signer } } = request.server
  // One query, the same for every address. A second query, for existing accounts only, would reveal them by its time.
  const [account] = await db.select().from(users)
    .where(and(eq(users.email, normalizeEmail(email)), isNull(users.deleted_at)))
  // Without an account the password is checked against a dummy hash, so that it takes the same time.
  const isRight = await passwords.verify(account?.password_hash ?? null, password, { reply })
  const signedIn = account && isRight
    ? await signInWithPassword(request, reply, account, password)
    : new AuthError('invalid_credentials')
  if (signedIn instanceof AuthError) {
    const object = `account:${accountFingerprint(keys, email)}`
    await record(db, request, 'accesso_fallito', object, { reason: signedIn.code })
    throw signedIn
  }
  const response = await sessionResponse(signer, signedIn.user, signedIn.session)
  return signedIn.user.password_printed ? { ...response, weak_password: PRINTED_PASSWORD } : response
}

/**
 * Begins a session after a right password. Returns invalid_credentials, user_banned or email_not_confirmed when the
 * person may not sign in.
 */
async function signInWithPassword (
  request: FastifyRequest, reply: FastifyReply, { id, password_hash }: UserRow, password: string
): Promise<SignedIn | AuthError> {
  const { db, identity: { passwords } } = request.server
  const stronger = needsRehash(password_hash!) ? await passwords.hash(password, { reply }) : undefined
  return await db.transaction(async (tx) => {
    // The person may have changed during the check of the password.
    const present = await lockUser(tx, id)
    if (present?.password_hash !== password_hash) return new AuthError('invalid_credentials')
    if (isBanned(present.banned_until)) return new AuthError('user_banned', { status: 400 })
    if (present.email_confirmed_at === null) return new AuthError('email_not_confirmed')
    if (stronger !== undefined) {
      await updateUser(tx, id, { password_hash: stronger, password_printed: present.password_printed })
    }
    const signedIn = await beginSession(tx, present, 'password', clientOf(request))
    await recordOf(tx, request, id, 'accesso', `session:${signedIn.session.id}`, { method: 'password' })
    return signedIn
  })
}

async function byCode (
  request: FastifyRequest, _reply: FastifyReply, { auth_code: code = '', code_verifier: verifier = '' }: GrantBody
): Promise<AuthSession> {
  const { db, identity: { signer } } = request.server
  if (code === '' || verifier === '') {
    throw validationFailed('invalid request: both auth code and code verifier should be non-empty')
  }
  const result = await db.transaction(async (tx) => {
    const state = await exchangeCode(tx, code, verifier)
    return state instanceof AuthError ? state : await beginFromFlow(tx, request, state)
  })
  if (result instanceof AuthError) throw result
  return { ...(await sessionResponse(signer, result.user, result.session)), ...result.tokens }
}

/** Begins the session at the end of a flow. Errors are returned, so that the commit uses up the code. */
async function beginFromFlow (
  tx: Transaction, request: FastifyRequest, state: FlowState & { user_id: string }
): Promise<SignedIn & { tokens: ProviderTokens } | AuthError> {
  const { authentication_method: method, provider, provider_tokens, password_hash } = state
  const { tokens, linking, handover }: KeptForClient = provider_tokens === null
    ? { tokens: {} }
    : unsealForClient(request.server.identity.keys, state.id, provider_tokens)
  const problem = linking && (await link(tx, state, linking))
  if (problem) return problem
  const person = await lockUser(tx, state.user_id)
  if (!person) throw new AuthError('user_not_found')
  if (isBanned(person.banned_until)) return new AuthError('user_banned', { status: 400 })
  // The client of the sign-up has completed its own flow, so the password that was chosen there belongs to this person.
  if (password_hash !== null && person.password_hash === null) await updateUser(tx, person.id, { password_hash })
  const signedIn = handover
    ? await acceptTokenHandover(tx, person.id, handover, clientOf(request))
    : await beginSession(tx, person, method, clientOf(request), provider)
  if (signedIn instanceof AuthError) return signedIn
  const { user: { id }, session } = signedIn
  if (linking) await recordOf(tx, request, id, 'identita_collegata', `user:${id}`, { provider, automatic: false })
  await recordOf(tx, request, id, 'accesso', `session:${session.id}`, { method, provider })
  return { ...signedIn, tokens }
}

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
