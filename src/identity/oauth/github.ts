import * as openid from 'openid-client'
import { CONTACT_SECONDS, contact } from './contact.ts'
import { providerProblem, unusable } from './problems.ts'
import { profileOf } from './profile.ts'
import { answerUrl, joinScopes, tokensOf, type ProviderClient } from './provider-client.ts'
import type { GithubProvider } from '#schemas/oauth-provider.ts'
import { isPlainHttp } from '#src/lib/addresses.ts'

/* https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps */
const AUTHORIZE = 'https://github.com/login/oauth/authorize'
const TOKEN = 'https://github.com/login/oauth/access_token'
const USER = 'https://api.github.com/user'
const SCOPES = 'read:user user:email'

/** GitHub: OAuth 2 without ID tokens. Who it is, and which address is proven, is asked of its API. */
export function githubClient (
  settings: GithubProvider,
  redirectUri: string,
  timeoutSeconds = CONTACT_SECONDS
): ProviderClient {
  const { authorization_endpoint = AUTHORIZE, token_endpoint = TOKEN, userinfo_endpoint = USER } = settings
  const issuer = new URL('/', userinfo_endpoint).origin
  const server = { issuer, authorization_endpoint, token_endpoint }
  const config = new openid.Configuration(
    server,
    settings.client_id,
    undefined,
    openid.ClientSecretPost(settings.client_secret)
  )
  config[openid.customFetch] = contact
  config.timeout = timeoutSeconds
  if ([authorization_endpoint, token_endpoint, userinfo_endpoint].every(isPlainHttp)) {
    openid.allowInsecureRequests(config)
  }

  return {
    async authorizationUrl ({ state, verifier }, { scopes, parameters }) {
      try {
        return openid.buildAuthorizationUrl(config, {
          ...parameters,
          redirect_uri: redirectUri,
          scope: joinScopes(settings.scopes ?? SCOPES, scopes),
          state,
          code_challenge: await openid.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256'
        })
      } catch (err) {
        throw providerProblem(err)
      }
    },

    async complete ({ state, verifier }, answer) {
      try {
        // Without `iss`: GitHub has no issuer that it could be compared with.
        const url = answerUrl(redirectUri, answer, ['state', 'code', 'error', 'error_description'])
        const tokens = await openid.authorizationCodeGrant(config, url, {
          expectedState: state,
          pkceCodeVerifier: verifier
        })
        const { access_token: token } = tokens
        const { id, name, login, avatar_url: picture } = fieldsOf(await ask(userinfo_endpoint, token))
        if (typeof id !== 'number') throw unusable('user')
        const { email, verified } = primary(await ask(`${userinfo_endpoint}/emails`, token))
        const profile = profileOf({
          issuer,
          subject: String(id),
          email,
          emailVerified: verified,
          name,
          userName: login,
          picture
        })
        return { profile, tokens: tokensOf(tokens) }
      } catch (err) {
        throw providerProblem(err)
      }
    }
  }

  /** Undefined for what the person has not granted. */
  async function ask (address: string, token: string): Promise<unknown> {
    const headers = new Headers({ accept: 'application/vnd.github+json' })
    const response = await openid.fetchProtectedResource(config, token, new URL(address), 'GET', undefined, headers)
    if (response.status !== 200) return undefined
    try {
      return await response.json()
    } catch {
      throw unusable('not JSON')
    }
  }
}

/** The address that the person uses with GitHub. */
function primary (emails: unknown): Record<string, unknown> {
  const entries: unknown[] = Array.isArray(emails) ? emails : []
  return entries.map(fieldsOf).find((entry) => entry.primary === true) ?? {}
}

function fieldsOf (value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
