import type { FastifyReply, FastifyRequest } from 'fastify'
import type { GrantBody } from '#schemas/auth/requests.ts'
import type { AuthSession } from '#schemas/auth/session.ts'
import { stepError } from '#src/http/auth.ts'
import { NonAutenticato, ServeUnaPersona } from '#src/lib/errors.ts'
import { AuthError, validationFailed } from '../errors.ts'
import { findAccount, recordSignIn } from '../oauth/accounts.ts'
import type { OAuthClients } from '../oauth/clients.ts'
import { OAuthError } from '../oauth/errors.ts'
import type { Profile } from '../oauth/profile.ts'
import { beginSession, clientOf } from '../sign-in/person-sessions.ts'
import { sessionResponse } from '../sign-in/session-response.ts'
import { countProof } from './request-limits.ts'

const BEARER = /^Bearer (\S+)$/i

interface Linking { userId: string, sessionId: string }

/**
 * The grant `id_token`: a client signed the person in with a provider's own SDK, and sends the ID token. With
 * `link_identity` the identity is added to the signed-in person's account.
 * @throws AuthError, and with `link_identity` also NonAutenticato, ServeUnaPersona and the errors of `stepError`
 */
export async function byIdToken (request: FastifyRequest, reply: FastifyReply, body: GrantBody): Promise<AuthSession> {
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
