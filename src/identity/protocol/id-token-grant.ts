import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { GrantBody } from '#schemas/auth/requests.ts'
import type { AuthSession } from '#schemas/auth/session.ts'
import { NonAutenticato, ServeUnaPersona } from '#src/lib/errors.ts'
import { factorError } from '#src/http/auth.ts'
import { AuthError } from '../errors.ts'
import { findOrCreateAccount, linkIdentity } from '../oauth/accounts.ts'
import { OAuthError } from '../oauth/errors.ts'
import type { Profile } from '../oauth/profile.ts'
import { recordSignIn } from '../oauth/record.ts'
import { sessionAnswer } from '../sign-in/session-answer.ts'
import { beginSession, clientOf } from '../sign-in/sessions.ts'
import type { ProtocolOptions } from './options.ts'

const BEARER = /^Bearer (\S+)$/i

/** Who is signed in, and links a further identity. */
interface Linking { userId: string, sessionId: string }

/**
 * The grant `id_token`: a client has let a person sign in with a provider's own kit, and brings what the provider says
 * of them. With `link_identity` the identity is added to the account of the person who is signed in.
 * @throws AuthError
 */
export function idTokenGrant (app: FastifyInstance, { config, clients, flows }: ProtocolOptions) {
  const { db, identity: { authenticator, signer, waitForListeners } } = app

  return async function byIdToken (
    request: FastifyRequest,
    reply: FastifyReply,
    body: GrantBody
  ): Promise<AuthSession> {
    const { id_token: token, provider: name, issuer, link_identity: isLinking, nonce, access_token } = body
    if (!token) throw new AuthError('validation_failed', { message: 'id_token required' })
    if (!name && !issuer) {
      throw new AuthError('validation_failed', { message: 'provider or client_id and issuer required' })
    }
    const linking = isLinking === true ? await requirePerson(request) : undefined
    const { provider, read } = findProvider(name, issuer)
    await flows.countProof(request, reply)
    const profile = await read(token, { nonce, accessToken: access_token }).catch(refuse)
    const { user, session } = await signIn(request, provider, profile, linking).catch(refuse)
    return await sessionAnswer(signer, user, session)
  }

  /** A public route looks at no credentials: here one is asked for. */
  async function requirePerson (request: FastifyRequest): Promise<Linking> {
    const token = BEARER.exec(request.headers.authorization ?? '')?.[1]
    if (token === undefined) {
      throw new AuthError('validation_failed', {
        message: 'Linking requires a valid user access token in Authorization'
      })
    }
    const caller = await authenticator.bearer(token, request)
    if (typeof caller === 'string') {
      request.refusal = caller
      throw new NonAutenticato()
    }
    if (caller.lacks !== undefined) throw factorError(caller.lacks)
    const { userId, sessionId } = caller
    if (userId === undefined || sessionId === undefined) throw new ServeUnaPersona()
    return { userId, sessionId }
  }

  function findProvider (name: string | undefined, issuer: string | undefined) {
    const found = [...clients].find(([each, { idTokens }]) => name ? each === name : idTokens?.issuer === issuer)
    if (found?.[1].idTokens === undefined) {
      throw new AuthError('provider_disabled', { message: `Provider (issuer "${issuer ?? name}") is not enabled` })
    }
    return { provider: found[0], read: found[1].idTokens.read }
  }

  async function signIn (request: FastifyRequest, provider: string, profile: Profile, linking: Linking | undefined) {
    const incoming = { provider, profile }
    const { accessRevoked, ...signedIn } = await db.transaction(async (tx) => {
      const { user: person, how, accessRevoked } = linking === undefined
        ? await findOrCreateAccount(tx, incoming, config.SIGNUP_ENABLED)
        : {
            user: await linkIdentity(tx, incoming, linking.userId, linking.sessionId),
            how: 'linked' as const,
            accessRevoked: false
          }
      const { user, session } = await beginSession(tx, person, 'oauth', clientOf(request), provider)
      const automatic = linking === undefined
      await recordSignIn(app, tx, { request, user, provider, how, automatic, accessRevoked, session })
      return { user, session, accessRevoked }
    })
    if (accessRevoked) await waitForListeners()
    return signedIn
  }
}

/** A failure of the provider as an error that the client reads in the answer: there is no browser to redirect. */
function refuse (err: unknown): never {
  if (!(err instanceof OAuthError)) throw err
  const { error, code, message } = err
  if (error === 'temporarily_unavailable') throw new AuthError('unexpected_failure', { status: 503, message })
  const isUnproven = code === 'provider_email_needs_verification'
  throw new AuthError(isUnproven ? 'provider_email_needs_verification' : 'validation_failed', { message })
}
