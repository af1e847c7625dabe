import * as openid from 'openid-client'
import { PROVIDER_TIMEOUT_SECONDS, fetchFromProvider } from './fetch-from-provider.ts'
import { providerError, unusableResponse } from './errors.ts'
import { profileOf, type Profile } from './profile.ts'
import { callbackUrl, joinScopes, tokensOf, type OAuthClient } from './oauth-client.ts'
import type { GithubProvider } from '#schemas/oauth-provider.ts'
import { isPlainHttp } from '#src/lib/addresses.ts'

/* https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps */
const AUTHORIZE = 'https://github.com/login/oauth/authorize'
const TOKEN = 'https://github.com/login/oauth/access_token'
const USER = 'https://api.github.com/user'
const SCOPES = 'read:user user:email'

/** GitHub: OAuth 2 without ID tokens. This client reads the person and the verified address from GitHub's API. */
export function githubClient (
  settings: GithubProvider, redirectUri: string, timeoutSeconds = PROVIDER_TIMEOUT_SECONDS
): OAuthClient {
  const { authorization_endpoint = AUTHORIZE, token_endpoint = TOKEN, userinfo_endpoint = USER } = settings
  const issuer = new URL('/', userinfo_endpoint).origin
  const server = { issuer, authorization_endpoint, token_endpoint }
  const config = new openid.Configuration(
    server, settings.client_id, undefined, openid.ClientSecretPost(settings.client_secret)
  )
  config[openid.customFetch] = fetchFromProvider
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
        throw providerError(err)
      }
    },

    async exchangeCode ({ state: expectedState, verifier: pkceCodeVerifier }, callback) {
      try {
        // Without `iss`, because GitHub has no issuer for a comparison.
        const url = callbackUrl(redirectUri, callback, ['state', 'code', 'error', 'error_description'])
        const tokens = await openid.authorizationCodeGrant(config, url, { expectedState, pkceCodeVerifier })
        return { profile: await readProfile(config, userinfo_endpoint, tokens.access_token), tokens: tokensOf(tokens) }
      } catch (err) {
        throw providerError(err)
      }
    }
  }
}

async function readProfile (config: openid.Configuration, userAddress: string, token: string): Promise<Profile> {
  const { id, name, login, avatar_url: picture } = asFields(await readJson(config, userAddress, token))
  if (typeof id !== 'number') throw unusableResponse('user')
  const { email, verified } = primary(await readJson(config, `${userAddress}/emails`, token))
  const { issuer } = config.serverMetadata()
  return profileOf({
    issuer, subject: String(id), email, emailVerified: verified, name, userName: login, picture
  })
}

/** The JSON of a response. Undefined unless the status is 200, e.g. when the person has not granted access. */
async function readJson (config: openid.Configuration, address: string, token: string): Promise<unknown> {
  const headers = new Headers({ accept: 'application/vnd.github+json' })
  const response = await openid.fetchProtectedResource(config, token, new URL(address), 'GET', undefined, headers)
  if (response.status !== 200) return undefined
  try {
    return await response.json()
  } catch {
    throw unusableResponse('not JSON')
  }
}

function primary (emails: unknown): Record<string, unknown> {
  const entries: unknown[] = Array.isArray(emails) ? emails : []
  return entries.map(asFields).find((entry) => entry.primary === true) ?? {}
}

function asFields (value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
