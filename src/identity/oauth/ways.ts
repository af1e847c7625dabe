import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { randomNonce, randomPKCECodeVerifier } from 'openid-client'
import type { Transaction } from '#src/plugins/database/connect.ts'
import { AuthError } from '../errors.ts'
import {
  beginFlow,
  challengeOf,
  grantCode,
  isOver,
  safeRedirect,
  takeFlow,
  type Challenge,
  type FlowState
} from '../sign-in/flow-states.ts'
import type { ProviderOptions } from '../protocol/routes.ts'
import { beginSession, clientOf, sessionAnswer, type SessionRow } from '../sign-in/sessions.ts'
import { getUser, type User } from '../people/users.ts'
import { arrive, link } from './accounts.ts'
import { providerClients } from './clients.ts'
import { openFlowSecrets, sealFlowSecrets, type FlowSecrets } from './flow-secrets.ts'
import { landWithCode, landWithProblem, landWithTokens } from './landing.ts'
import { problemOf, OAuthProblem } from './problems.ts'
import type { Answer, Wishes } from './provider-client.ts'
import { sealProviderTokens, type ProviderTokens } from './provider-tokens.ts'
import type { Profile } from './profile.ts'

/** What a client says when it sends somebody to a provider. */
export interface Departure extends Challenge, Wishes {
  provider?: string
  redirect_to?: string
}

/** The ways through other providers: they begin with an address there, and end with an address of the front end. */
export interface OAuthWays {
  /**
   * Where the browser goes to. `linking`: who is adding an identity to their account.
   * @throws AuthError validation_failed; OAuthProblem when the provider cannot be reached
   */
  begin (departure: Departure, linking?: { userId: string, sessionId: string }): Promise<string>
  /** Where the browser goes to when the provider has sent it back, whatever has come of it. */
  finish (request: FastifyRequest, answer: Answer): Promise<string>
  /** The same for a way that could not even begin. */
  explain (departure: Departure, problem: OAuthProblem): string
}

interface Ended { user: User, session?: SessionRow, code?: string, tookAway: boolean }

export function oauthWays (app: FastifyInstance, { config, keys }: ProviderOptions): OAuthWays {
  const { db, log, identity: { signer, settled } } = app
  const clients = providerClients(config)

  return {
    async begin (departure, linking) {
      const { provider = '', redirect_to, scopes, parameters } = departure
      const client = clients.get(provider)
      if (!client) {
        throw new AuthError('validation_failed', {
          message: `Unsupported provider: Provider ${provider} could not be found`
        })
      }
      const challenge = challengeOf(departure)
      const id = randomUUID()
      const secrets: FlowSecrets = {
        verifier: randomPKCECodeVerifier(),
        nonce: randomNonce(),
        ...(linking && { session_id: linking.sessionId })
      }
      const url = await reporting(provider, () =>
        client.authorizationUrl({ state: id, ...secrets }, { scopes, parameters })
      )
      await beginFlow(db, {
        id,
        provider,
        ...challenge,
        redirect_to: safeRedirect(config, redirect_to),
        linking_user_id: linking?.userId ?? null,
        provider_secrets: sealFlowSecrets(keys, id, secrets),
        authentication_method: 'oauth'
      })
      return url.href
    },

    async finish (request, answer) {
      const home = safeRedirect(config, undefined)
      if (!answer.state) return landWithProblem(home, bad('bad_oauth_callback', 'OAuth state parameter missing'))
      const flow = await takeFlow(db, answer.state)
      if (!flow) return landWithProblem(home, bad('bad_oauth_state', 'OAuth callback with invalid state'))
      try {
        return await lead(request, flow, answer)
      } catch (err) {
        if (!(err instanceof AuthError || err instanceof OAuthProblem)) request.log.error({ err }, 'request failed')
        return landWithProblem(flow.redirect_to, problemOf(err))
      }
    },

    explain: ({ redirect_to }, problem) => landWithProblem(safeRedirect(config, redirect_to), problem)
  }

  async function lead (request: FastifyRequest, flow: FlowState, answer: Answer): Promise<string> {
    if (isOver(flow.created_at)) throw new AuthError('flow_state_expired')
    const client = clients.get(flow.provider)
    if (!client) throw new AuthError('provider_disabled')
    if (!answer.error && !answer.code) throw bad('bad_oauth_callback', 'OAuth callback with missing authorization code')
    const secrets = openFlowSecrets(keys, flow.id, flow.provider_secrets!)
    const { profile, tokens } = await reporting(flow.provider, () =>
      client.complete({ state: flow.id, ...secrets }, answer)
    )
    const { user, session, code, tookAway } = await db.transaction(
      async (tx) => await end(tx, { request, flow, secrets, profile, tokens })
    )
    if (tookAway) await settled()
    if (code !== undefined) return landWithCode(flow.redirect_to, code)
    return landWithTokens(flow.redirect_to, await sessionAnswer(signer, await getUser(db, user.id), session!), tokens)
  }

  interface Arriving {
    request: FastifyRequest
    flow: FlowState
    secrets: FlowSecrets
    profile: Profile
    tokens: ProviderTokens
  }

  async function end (tx: Transaction, { request, flow, secrets, profile, tokens }: Arriving): Promise<Ended> {
    const { provider, linking_user_id: linkingUser } = flow
    const newcomer = { provider, profile }
    const { user, how, tookAway } = linkingUser === null
      ? await arrive(tx, newcomer, config.SIGNUP_ENABLED)
      : { user: await link(tx, newcomer, linkingUser, secrets.session_id), how: 'linked', tookAway: false }
    const session =
      flow.code_challenge === null ? await beginSession(tx, user, 'oauth', clientOf(request), provider) : undefined
    const code = session === undefined ? await grant(tx, flow, user, tokens) : undefined

    const entry = { actor: `user:${user.id}`, ip: request.ip, object: `user:${user.id}` }
    if (how === 'created') {
      await app.audit.append(tx, { ...entry, action: 'utente_creato', details: { role: 'pending', provider } })
    }
    if (how === 'linked') {
      await app.audit.append(tx, {
        ...entry,
        action: 'identita_collegata',
        details: { provider, automatic: linkingUser === null }
      })
    }
    if (tookAway) {
      await app.audit.append(tx, {
        ...entry,
        action: 'sessioni_revocate',
        details: { reason: 'address_proven', provider }
      })
    }
    // With a code the session begins, and is written down, when it is exchanged.
    if (session) {
      await app.audit.append(tx, {
        ...entry,
        action: 'accesso',
        object: `session:${session.id}`,
        details: { method: 'oauth', provider }
      })
    }
    return { user, session, code, tookAway }
  }

  /** The way stays open for the client, which exchanges the code. */
  async function grant (tx: Transaction, flow: FlowState, { id }: User, tokens: ProviderTokens): Promise<string> {
    await beginFlow(tx, { ...flow, provider_secrets: null })
    return await grantCode(tx, flow.id, id, sealProviderTokens(keys, flow.id, tokens))
  }

  /** What the provider does wrong is its operator's to know. */
  async function reporting<T> (provider: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (err) {
      if (err instanceof OAuthProblem && err.reason !== undefined) {
        log.warn({ provider, reason: err.reason }, 'a sign-in through a provider failed')
      }
      throw err
    }
  }
}

function bad (code: 'bad_oauth_callback' | 'bad_oauth_state', message: string): OAuthProblem {
  return problemOf(new AuthError(code, { message }))
}
