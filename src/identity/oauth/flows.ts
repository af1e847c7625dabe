import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { randomNonce, randomPKCECodeVerifier } from 'openid-client'
import type { Transaction } from '#src/database/connect.ts'
import { AuthError } from '../errors.ts'
import type { IdentityOptions } from '../options.ts'
import type { UserRow } from '../people/find-users.ts'
import {
  createFlow,
  isFlowExpired,
  issueAuthCode,
  readChallenge,
  takeFlow,
  type ChallengeParameters,
  type FlowState
} from '../sign-in/flow-states.ts'
import { allowedRedirect, redirectWithCode, redirectWithError, redirectWithSession } from '../sign-in/redirects.ts'
import { sessionAnswer } from '../sign-in/session-answer.ts'
import { beginSession, clientOf, type SignedIn } from '../sign-in/sessions.ts'
import { findOrCreateAccount, linkIdentity, requireLinkable } from './accounts.ts'
import type { AuthorizationExtras, CallbackParameters } from './client.ts'
import { callbackAddress, type OAuthClients } from './clients.ts'
import { OAuthError, toOAuthError } from './errors.ts'
import { flowCookies } from './flow-cookies.ts'
import { sealFlowSecrets, unsealFlowSecrets, type FlowSecrets } from './flow-secrets.ts'
import type { Profile } from './profile.ts'
import { recordSignIn } from './record.ts'
import { sealForClient, type KeptForClient, type ProviderTokens } from './provider-tokens.ts'

/** What a client asks for when it sends a person to a provider. */
export interface AuthorizeRequest extends ChallengeParameters, AuthorizationExtras {
  provider?: string
  redirect_to?: string
}

/** Sign-ins through other providers: a flow starts with an address there and ends with an address of the front end. */
export interface OAuthFlows {
  /**
   * The address at the provider that the browser opens; the answer has the cookie that binds the flow to the browser.
   * `linking`: the person who adds an identity to their account.
   * @throws AuthError validation_failed; OAuthError when the provider cannot be reached
   */
  start (
    reply: FastifyReply,
    asked: AuthorizeRequest,
    linking?: { userId: string, sessionId: string }
  ): Promise<string>
  /** The address that the browser opens after the provider's callback, with a session, a code or an error. */
  finish (request: FastifyRequest, reply: FastifyReply, callback: CallbackParameters): Promise<string>
  /** The address with the error of a flow that could not start. */
  errorRedirect (asked: AuthorizeRequest, error: OAuthError): string
}

/** What a callback is handled with. */
interface CallbackContext {
  request: FastifyRequest
  flow: FlowState
  secrets: FlowSecrets
  profile: Profile
  tokens: ProviderTokens
}

/** The result of a flow: a session, or a code that the client exchanges for one. */
interface FlowResult { signedIn?: SignedIn, code?: string, accessRevoked: boolean }

export function oauthFlows (
  app: FastifyInstance,
  { config, keys, clients }: IdentityOptions & { clients: OAuthClients }
): OAuthFlows {
  const { db, log, identity: { signer, waitForListeners } } = app
  const cookies = flowCookies(callbackAddress(config))

  return {
    async start (reply, asked, linking) {
      const { provider = '', redirect_to, scopes, parameters } = asked
      const client = clients.get(provider)
      if (!client) {
        throw new AuthError('validation_failed', {
          message: `Unsupported provider: Provider ${provider} could not be found`
        })
      }
      const challenge = readChallenge(asked)
      const id = randomUUID()
      const secrets: FlowSecrets = {
        verifier: randomPKCECodeVerifier(),
        nonce: randomNonce(),
        browser: randomNonce(),
        ...(linking && { session_id: linking.sessionId })
      }
      const url = await loggingFaults(provider, () =>
        client.authorizationUrl({ state: id, ...secrets }, { scopes, parameters })
      )
      await createFlow(db, {
        id,
        provider,
        ...challenge,
        redirect_to: allowedRedirect(config, redirect_to),
        linking_user_id: linking?.userId ?? null,
        provider_secrets: sealFlowSecrets(keys, id, secrets),
        authentication_method: 'oauth'
      })
      cookies.set(reply, id, secrets.browser)
      return url.href
    },

    async finish (request, reply, callback) {
      const home = allowedRedirect(config, undefined)
      if (!callback.state) {
        return redirectWithError(home, callbackError('bad_oauth_callback', 'OAuth state parameter missing'))
      }
      const flow = await takeFlow(db, callback.state)
      const unknown = callbackError('bad_oauth_state', 'OAuth callback with invalid state')
      if (!flow) return redirectWithError(home, unknown)
      const secrets = unsealFlowSecrets(keys, flow.id, flow.provider_secrets!)
      const isOwn = cookies.take(request, reply, flow.id, secrets.browser)
      // The official client asks by script for the address at which an identity is linked, and a browser may keep no
      // cookie then; with PKCE the identity is linked when that client exchanges the code.
      if (!isOwn && !isLinkedByCode(flow)) return redirectWithError(home, unknown)
      try {
        return await finishFlow(request, flow, secrets, callback)
      } catch (err) {
        if (!(err instanceof AuthError || err instanceof OAuthError)) request.log.error({ err }, 'request failed')
        return redirectWithError(flow.redirect_to, toOAuthError(err))
      }
    },

    errorRedirect: ({ redirect_to }, error) => redirectWithError(allowedRedirect(config, redirect_to), error)
  }

  async function finishFlow (
    request: FastifyRequest,
    flow: FlowState,
    secrets: FlowSecrets,
    callback: CallbackParameters
  ): Promise<string> {
    if (isFlowExpired(flow.created_at)) throw new AuthError('flow_state_expired')
    const client = clients.get(flow.provider)
    if (!client) throw new AuthError('provider_disabled')
    if (!callback.error && !callback.code) {
      throw callbackError('bad_oauth_callback', 'OAuth callback with missing authorization code')
    }
    const { profile, tokens } = await loggingFaults(flow.provider, () =>
      client.exchangeCode({ state: flow.id, ...secrets }, callback)
    )
    const { signedIn, code, accessRevoked } = await db.transaction(
      async (tx) => await signInOrLink(tx, { request, flow, secrets, profile, tokens })
    )
    if (accessRevoked) await waitForListeners()
    if (code !== undefined) return redirectWithCode(flow.redirect_to, code)
    const session = await sessionAnswer(signer, signedIn!.user, signedIn!.session)
    return redirectWithSession(flow.redirect_to, session, { ...tokens })
  }

  async function signInOrLink (
    tx: Transaction,
    { request, flow, secrets, profile, tokens }: CallbackContext
  ): Promise<FlowResult> {
    const { provider, linking_user_id: linkingUser } = flow
    const identity = { provider, profile }
    if (isLinkedByCode(flow)) {
      const { session_id = '' } = secrets
      const user = await requireLinkable(tx, identity, linkingUser!, session_id)
      const code = await issueCode(tx, flow, user, { tokens, linking: { profile, session_id } })
      return { code, accessRevoked: false }
    }
    const { user, how, accessRevoked } = linkingUser === null
      ? await findOrCreateAccount(tx, identity, config.SIGNUP_ENABLED)
      : {
          user: await linkIdentity(tx, identity, linkingUser, secrets.session_id),
          how: 'linked' as const,
          accessRevoked: false
        }
    const signedIn =
      flow.code_challenge === null ? await beginSession(tx, user, 'oauth', clientOf(request), provider) : undefined
    const code = signedIn === undefined ? await issueCode(tx, flow, user, { tokens }) : undefined

    const automatic = linkingUser === null
    await recordSignIn(app, tx, { request, user, provider, how, automatic, accessRevoked, session: signedIn?.session })
    return { signedIn, code, accessRevoked }
  }

  /** Keeps the flow for the client, which exchanges the code. */
  async function issueCode (
    tx: Transaction,
    flow: FlowState,
    { id }: UserRow,
    kept: KeptForClient
  ): Promise<string> {
    await createFlow(tx, { ...flow, provider_secrets: null })
    return await issueAuthCode(tx, flow.id, id, sealForClient(keys, flow.id, kept))
  }

  /** Logs the faults of a provider: the operator of this server can act on them, the person cannot. */
  async function loggingFaults<T> (provider: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (err) {
      if (err instanceof OAuthError && err.reason !== undefined) {
        log.warn({ provider, reason: err.reason }, 'a sign-in through a provider failed')
      }
      throw err
    }
  }
}

/** Whether the identity is linked when the client exchanges the code, and not before. */
function isLinkedByCode ({ linking_user_id, code_challenge }: FlowState): boolean {
  return linking_user_id !== null && code_challenge !== null
}

function callbackError (code: 'bad_oauth_callback' | 'bad_oauth_state', message: string): OAuthError {
  return toOAuthError(new AuthError(code, { message }))
}
