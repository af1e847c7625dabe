import { randomUUID } from 'node:crypto'
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import { randomNonce, randomPKCECodeVerifier } from 'openid-client'
import type { Config } from '#src/config/config.ts'
import { onlyValue } from '#src/lib/cookie-header.ts'
import { secretComparer, type Keys } from '#src/lib/secrets.ts'
import type { Transaction } from '#src/database/connect.ts'
import { AuthError, validationFailed } from '../errors.ts'
import type { UserRow } from '../people/find-users.ts'
import {
  createFlow, isFlowExpired, issueAuthCode, readChallenge, takeFlow, type ChallengeParameters, type FlowState
} from '../sign-in/flow-states.ts'
import {
  allowedRedirect, PKCE_REQUIRED, redirectWithCode, redirectWithError, redirectWithSession, requiresPkce
} from '../sign-in/redirects.ts'
import { sessionResponse } from '../sign-in/session-response.ts'
import { beginSession, clientOf, type SignedIn } from '../sign-in/person-sessions.ts'
import { findAccount, recordSignIn, requireLinkable } from './accounts.ts'
import type { AuthorizationExtras, CallbackParameters } from './oauth-client.ts'
import { callbackAddress } from './clients.ts'
import { OAuthError, toOAuthError } from './errors.ts'
import {
  sealFlowSecrets, sealForClient, unsealFlowSecrets, type FlowSecrets, type KeptForClient, type ProviderTokens
} from './flow-secrets.ts'
import type { Profile } from './profile.ts'

/* Sign-ins through other providers. A flow starts at a URL of the provider and ends at a URL of the front end. */

/** The lifetime of a flow's cookie. The cookie outlives the flow, so that a late browser gets an exact error. */
const COOKIE_SECONDS = 900

export interface AuthorizeRequest extends ChallengeParameters, AuthorizationExtras {
  provider?: string
  redirect_to?: string
}

interface CallbackContext { flow: FlowState, secrets: FlowSecrets, profile: Profile, tokens: ProviderTokens }

interface FlowResult { signedIn?: SignedIn, code?: string, accessRevoked: boolean }

/**
 * Starts a flow, and returns the provider's URL for the browser. The response sets the cookie that binds the flow to
 * the browser.
 * @param linking the person who adds an identity to their account
 * @throws AuthError validation_failed, OAuthError when the provider cannot be reached
 */
export async function startFlow (
  reply: FastifyReply, asked: AuthorizeRequest, linking?: { userId: string, sessionId: string }
): Promise<string> {
  const { db, log, identity: { config, keys, clients } } = reply.server
  const { provider = '', redirect_to, scopes, parameters } = asked
  const client = clients.get(provider)
  if (!client) throw validationFailed(`Unsupported provider: Provider ${provider} could not be found`)
  const challenge = readChallenge(asked)
  const redirectTo = allowedRedirect(config, redirect_to)
  if (challenge.code_challenge === null && requiresPkce(redirectTo)) throw validationFailed(PKCE_REQUIRED)
  const id = randomUUID()
  const secrets: FlowSecrets = {
    verifier: randomPKCECodeVerifier(),
    nonce: randomNonce(),
    browser: randomNonce(),
    ...(linking && { session_id: linking.sessionId })
  }
  const url = await loggingFaults(log, provider, () =>
    client.authorizationUrl({ state: id, ...secrets }, { scopes, parameters })
  )
  await createFlow(db, {
    id,
    provider,
    ...challenge,
    redirect_to: redirectTo,
    linking_user_id: linking?.userId ?? null,
    provider_secrets: sealFlowSecrets(keys, id, secrets),
    authentication_method: 'oauth'
  })
  const { name, attributes } = cookieOf(config, id)
  reply.setCookie(name, secrets.browser, { ...attributes, maxAge: COOKIE_SECONDS })
  return url.href
}

/** Ends a flow. Returns the URL to open after the provider's callback, with a session, a code or an error. */
export async function endFlow (
  request: FastifyRequest, reply: FastifyReply, callback: CallbackParameters
): Promise<string> {
  const { db, identity: { config, keys } } = request.server
  const home = allowedRedirect(config, undefined)
  if (!callback.state) {
    return redirectWithError(home, callbackError('bad_oauth_callback', 'OAuth state parameter missing'))
  }
  const flow = await takeFlow(db, callback.state)
  const unknown = callbackError('bad_oauth_state', 'OAuth callback with invalid state')
  if (!flow) return redirectWithError(home, unknown)
  const secrets = unsealFlowSecrets(keys, flow.id, flow.provider_secrets!)
  const isOwn = takeCookie(request, reply, flow.id, secrets.browser)
  // The official client requests the URL for linking by script, so the browser may not store the cookie. With PKCE the
  // identity is linked later, when that client exchanges the code.
  if (!isOwn && !isLinkedByCode(flow)) return redirectWithError(home, unknown)
  try {
    return await settleFlow(request, flow, secrets, callback)
  } catch (err) {
    if (!(err instanceof AuthError || err instanceof OAuthError)) request.log.error({ err }, 'request failed')
    return redirectWithError(flow.redirect_to, toOAuthError(err))
  }
}

export function errorRedirect (config: Config, { redirect_to }: AuthorizeRequest, error: OAuthError): string {
  return redirectWithError(allowedRedirect(config, redirect_to), error)
}

async function settleFlow (
  request: FastifyRequest, flow: FlowState, secrets: FlowSecrets, callback: CallbackParameters
): Promise<string> {
  const { db, log, identity: { clients, signer, waitForListeners } } = request.server
  if (isFlowExpired(flow.created_at)) throw new AuthError('flow_state_expired')
  const client = clients.get(flow.provider)
  if (!client) throw new AuthError('provider_disabled')
  if (!callback.error && !callback.code) {
    throw callbackError('bad_oauth_callback', 'OAuth callback with missing authorization code')
  }
  const { profile, tokens } = await loggingFaults(log, flow.provider, () =>
    client.exchangeCode({ state: flow.id, ...secrets }, callback)
  )
  const { signedIn, code, accessRevoked } = await db.transaction(
    async (tx) => await signInOrLink(tx, request, { flow, secrets, profile, tokens })
  )
  if (accessRevoked) await waitForListeners()
  if (code !== undefined) return redirectWithCode(flow.redirect_to, code)
  const session = await sessionResponse(signer, signedIn!.user, signedIn!.session)
  return redirectWithSession(flow.redirect_to, session, { ...tokens })
}

async function signInOrLink (
  tx: Transaction, request: FastifyRequest, { flow, secrets, profile, tokens }: CallbackContext
): Promise<FlowResult> {
  const { config, keys } = request.server.identity
  const { provider, linking_user_id: userId } = flow
  const identity = { provider, profile }
  if (isLinkedByCode(flow)) {
    const { session_id = '' } = secrets
    const user = await requireLinkable(tx, identity, userId!, session_id)
    const code = await issueCode(tx, keys, flow, user, { tokens, linking: { profile, session_id } })
    return { code, accessRevoked: false }
  }
  const linking = userId === null ? undefined : { userId, sessionId: secrets.session_id }
  const { user, how, accessRevoked } = await findAccount(tx, identity, linking, config.SIGNUP_ENABLED)
  const signedIn =
    flow.code_challenge === null ? await beginSession(tx, user, 'oauth', clientOf(request), provider) : undefined
  const code = signedIn === undefined ? await issueCode(tx, keys, flow, user, { tokens }) : undefined
  const automatic = linking === undefined
  await recordSignIn(tx, request, { user, provider, how, automatic, accessRevoked, session: signedIn?.session })
  return { signedIn, code, accessRevoked }
}

/** Stores the result of the flow for the client, which exchanges the code for it. */
async function issueCode (
  tx: Transaction, keys: Keys, flow: FlowState, { id }: UserRow, kept: KeptForClient
): Promise<string> {
  await createFlow(tx, { ...flow, provider_secrets: null })
  return await issueAuthCode(tx, flow.id, id, sealForClient(keys, flow.id, kept))
}

/** Logs a provider's errors and refusals, because only the operator of this server can fix a wrong configuration. */
async function loggingFaults<T> (log: FastifyBaseLogger, provider: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (err) {
    if (err instanceof OAuthError && err.reason !== undefined) {
      log.warn({ provider, reason: err.reason }, 'a sign-in through a provider failed')
    }
    throw err
  }
}

/**
 * The cookie that binds a flow to the browser that started it. Each flow has its own, so flows can run concurrently. It
 * is single-use, and sent only to the callback. `sign-in/browser-cookie.ts` sets another one for a day.
 */
function cookieOf (config: Config, flowId: string) {
  const { pathname: path, protocol } = new URL(callbackAddress(config))
  // Lax, because another site redirects the browser back.
  const attributes = { path, httpOnly: true, sameSite: 'lax', secure: protocol === 'https:' } as const
  return { name: `locanda_oauth_${flowId}`, attributes }
}

/** Whether the request has this flow's cookie. Deletes the cookie. */
function takeCookie (request: FastifyRequest, reply: FastifyReply, flowId: string, value: string): boolean {
  const { name, attributes } = cookieOf(request.server.identity.config, flowId)
  reply.clearCookie(name, attributes)
  return secretComparer(value)(onlyValue(request.headers.cookie ?? '', name))
}

/** Whether the identity is linked only when the client exchanges the code. */
function isLinkedByCode ({ linking_user_id, code_challenge }: FlowState): boolean {
  return linking_user_id !== null && code_challenge !== null
}

function callbackError (code: 'bad_oauth_callback' | 'bad_oauth_state', message: string): OAuthError {
  return toOAuthError(new AuthError(code, { message }))
}
