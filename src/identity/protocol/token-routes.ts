import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { and, eq, isNull } from 'drizzle-orm'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { sessions, users } from '#drizzle/tables/identity.ts'
import { GrantBody, GrantQuery } from '#schemas/auth/requests.ts'
import { AuthSession } from '#schemas/auth/session.ts'
import { Ref } from '#schemas/common.ts'
import type { Database, Transaction } from '#src/database/connect.ts'
import { route } from '../provider-route.ts'
import { accountFingerprint, normalizeEmail } from '../people/email.ts'
import { AuthError, PRINTED_PASSWORD, validationFailed } from '../errors.ts'
import { needsRehash } from '../sign-in/passwords.ts'
import { acceptTokenHandover } from '../sign-in/token-handover.ts'
import { sessionResponse } from '../sign-in/session-response.ts'
import {
  beginSession, clientOf, DAY_MS, IDLE_MS, type Client, type SessionRow, type SignedIn
} from '../sign-in/person-sessions.ts'
import { exchangeCode, type FlowState } from '../sign-in/flow-states.ts'
import { findAccount, linkIdentity, recordSignIn } from '../oauth/accounts.ts'
import { unsealForClient, type KeptForClient, type ProviderTokens } from '../oauth/flow-secrets.ts'
import { getUser, isBanned, type UserRow } from '../people/find-users.ts'
import { lockUser } from '../people/people-locks.ts'
import { updateUser } from '../people/users.ts'
import { record, recordOf } from '../audit-record.ts'
import { countPasswordAttempt, countProof } from './request-limits.ts'
import { classifyRefresh, decodeRefreshToken } from '../tokens/refresh-token.ts'
import { NonAutenticato, ServeUnaPersona } from '#src/lib/errors.ts'
import { stepError } from '#src/http/auth.ts'
import type { OAuthClients } from '../oauth/clients.ts'
import { OAuthError } from '../oauth/errors.ts'
import type { Profile } from '../oauth/profile.ts'

type Grant = (request: FastifyRequest, reply: FastifyReply, body: GrantBody) => Promise<AuthSession>

const GRANTS: ReadonlyMap<string | undefined, Grant> = new Map<string, Grant>([
  ['password', byPassword],
  ['refresh_token', byRefreshToken],
  ['pkce', byCode],
  ['id_token', byIdToken],
  ['web3', async () => { throw new AuthError('web3_provider_disabled') }]
])

const tokenRoutes: FastifyPluginAsyncTypebox = async (app) => {
  app.post('/token', route({ access: 'public' }, 'authToken', 'Accede, rinnova o scambia un codice', {
    querystring: GrantQuery, body: GrantBody, response: { 200: Ref(AuthSession) }
  }), async (request, reply) => {
    const grant = GRANTS.get(request.query.grant_type)
    if (!grant) throw new AuthError('invalid_credentials', { message: 'unsupported_grant_type' })
    return await grant(request, reply, request.body)
  })
}
export default tokenRoutes

async function byPassword (
  request: FastifyRequest, reply: FastifyReply, { email, phone, password = '' }: GrantBody
): Promise<AuthSession> {
  const { db, identity: { keys, passwords, signer } } = request.server
  if (email && phone) throw validationFailed('Only an email address or phone number should be provided on login.')
  if (phone) throw new AuthError('phone_provider_disabled', { status: 422, message: 'Phone logins are disabled' })
  if (!email) throw validationFailed('missing email or phone')
  await countPasswordAttempt(request, reply, 'sign-in', email)
  // One query, the same for every address. To read more rows for an existing account would take longer.
  const [account] = await db.select().from(users)
    .where(and(eq(users.email, normalizeEmail(email)), isNull(users.deleted_at)))
  // Without an account the password is checked against a dummy hash, so that the time does not reveal it.
  const isRight = await passwords.verify(account?.password_hash ?? null, password)
  const signedIn = account && isRight
    ? await signInWithPassword(request, account, password)
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
  request: FastifyRequest, { id, password_hash }: UserRow, password: string
): Promise<SignedIn | AuthError> {
  const { db, identity: { passwords } } = request.server
  const stronger = needsRehash(password_hash!) ? await passwords.hash(password) : undefined
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

async function byRefreshToken (
  request: FastifyRequest, _reply: FastifyReply, { refresh_token: token = '' }: GrantBody
): Promise<AuthSession> {
  const { server: app } = request
  const { signer, waitForListeners } = app.identity
  if (token === '') throw new AuthError('refresh_token_not_found')
  let wasReused = false
  try {
    const client = clientOf(request)
    const { user, session } = await refreshSession(app.db, signer.refreshSecret, token, client, async (tx, { id }) => {
      wasReused = true
      await app.audit.append(tx, {
        actor: 'sistema',
        ip: request.ip,
        action: 'sessioni_revocate',
        object: `session:${id}`,
        details: { reason: 'refresh_token_reused' }
      })
    })
    return await sessionResponse(signer, user, session)
  } finally {
    if (wasReused) await waitForListeners()
  }
}

/**
 * Exchanges a refresh token for the next one. A used token returns the current one again if the client may have lost
 * the response. An older token, or one that is repeated too often, is a copy and ends the session. A token from before
 * a proof of a second factor is refused, but does not end the session.
 * @param onReuse records the end by a copy in the audit log, in the same transaction
 */
async function refreshSession (
  db: Database,
  refreshSecret: Buffer,
  text: string,
  client: Client,
  onReuse: (tx: Transaction, session: SessionRow) => Promise<void>
): Promise<SignedIn> {
  const token = decodeRefreshToken(refreshSecret, text)
  if (token === undefined) throw new AuthError('refresh_token_not_found')
  const result = await db.transaction(async (tx): Promise<SignedIn | AuthError> => {
    // The lock lets concurrent requests run one after the other. All except the first find the token used.
    const [session] = await tx.select().from(sessions).where(eq(sessions.id, token.sessionId)).for('update')
    if (!session) return new AuthError('refresh_token_not_found')
    const now = new Date()
    const lastRefreshMs = session.refreshed_at?.getTime() ?? session.created_at.getTime()
    if (session.not_after <= now || lastRefreshMs + IDLE_MS <= now.getTime()) return new AuthError('session_expired')
    const user = await getUser(tx, session.user_id)
    if (isBanned(user.banned_until)) return new AuthError('user_banned', { status: 400 })
    // Days since the session began.
    const repeats_day = Math.floor((now.getTime() - session.created_at.getTime()) / DAY_MS)
    const repeats = session.repeats_day === repeats_day ? session.repeats : 0
    const use = classifyRefresh({
      tokenCounter: token.counter,
      sessionCounter: session.refresh_counter,
      lastRefreshMs,
      nowMs: now.getTime(),
      repeats
    })
    if (use === 'invalid' || use === 'void') return new AuthError('refresh_token_not_found')
    if (use === 'reused') {
      await tx.delete(sessions).where(eq(sessions.id, session.id))
      await onReuse(tx, session)
      return new AuthError('refresh_token_already_used')
    }
    if (use === 'doubtful') {
      await tx.update(sessions).set({ repeats: repeats + 1, repeats_day }).where(eq(sessions.id, session.id))
    }
    if (use !== 'rotate') return { user, session }
    const [refreshed] = await tx.update(sessions)
      .set({ refresh_counter: session.refresh_counter + 1, refreshed_at: now, updated_at: now, ...client })
      .where(eq(sessions.id, session.id)).returning()
    return { user, session: refreshed! }
  })
  // Throw after the commit, because the end of the session must be committed.
  if (result instanceof AuthError) throw result
  return result
}

const BEARER = /^Bearer (\S+)$/i

interface Linking { userId: string, sessionId: string }

/**
 * The grant `id_token`: a client signed the person in with a provider's own SDK, and sends the ID token. With
 * `link_identity` the identity is added to the signed-in person's account.
 * @throws AuthError
 */
async function byIdToken (request: FastifyRequest, reply: FastifyReply, body: GrantBody): Promise<AuthSession> {
  const { clients, signer } = request.server.identity
  const { id_token: token, provider: name, issuer, link_identity: isLinking, nonce, access_token: accessToken } = body
  if (!token) throw validationFailed('id_token required')
  if (!name && !issuer) throw validationFailed('provider or client_id and issuer required')
  const linking = isLinking === true ? await requirePerson(request) : undefined
  const { provider, read } = findProvider(clients, name, issuer)
  await countProof(request, reply)
  const profile = await read(token, { nonce, accessToken }).catch(refuse)
  const { user, session } = await signIn(request, provider, profile, linking).catch(refuse)
  return await sessionResponse(signer, user, session)
}

/** Public routes ignore credentials, so the credential is checked here. */
async function requirePerson (request: FastifyRequest): Promise<Linking> {
  const token = BEARER.exec(request.headers.authorization ?? '')?.[1]
  if (token === undefined) throw validationFailed('Linking requires a valid user access token in Authorization')
  const caller = await request.server.identity.authenticator.bearer(token, request)
  if (typeof caller === 'string') {
    request.refusal = caller
    throw new NonAutenticato()
  }
  if (caller.lacks !== undefined) throw stepError(caller.lacks)
  const { userId, sessionId } = caller
  if (userId === undefined || sessionId === undefined) throw new ServeUnaPersona()
  return { userId, sessionId }
}

function findProvider (clients: OAuthClients, name: string | undefined, issuer: string | undefined) {
  const found = [...clients].find(([each, { idTokens }]) => name ? each === name : idTokens?.issuer === issuer)
  if (found?.[1].idTokens === undefined) {
    throw new AuthError('provider_disabled', { message: `Provider (issuer "${issuer ?? name}") is not enabled` })
  }
  return { provider: found[0], read: found[1].idTokens.read }
}

async function signIn (request: FastifyRequest, provider: string, profile: Profile, linking: Linking | undefined) {
  const { db, identity: { config, waitForListeners } } = request.server
  const incoming = { provider, profile }
  const { accessRevoked, ...signedIn } = await db.transaction(async (tx) => {
    const { user: person, how, accessRevoked } = await findAccount(tx, incoming, linking, config.SIGNUP_ENABLED)
    const { user, session } = await beginSession(tx, person, 'oauth', clientOf(request), provider)
    await recordSignIn(tx, request, { user, provider, how, automatic: linking === undefined, accessRevoked, session })
    return { user, session, accessRevoked }
  })
  if (accessRevoked) await waitForListeners()
  return signedIn
}

/** Throws a provider's error for the response, because no browser can be redirected. */
function refuse (err: unknown): never {
  if (!(err instanceof OAuthError)) throw err
  const { error, code, message } = err
  if (error === 'temporarily_unavailable') throw new AuthError('unexpected_failure', { status: 503, message })
  const isUnproven = code === 'provider_email_needs_verification'
  throw new AuthError(isUnproven ? 'provider_email_needs_verification' : 'validation_failed', { message })
}
