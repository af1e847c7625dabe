import * as openid from 'openid-client'
import { PROVIDER_TIMEOUT_SECONDS, fetchFromProvider } from './fetch-from-provider.ts'
import { providerError, unusableResponse } from './errors.ts'
import { profileOf, type Profile } from './profile.ts'
import { callbackUrl, joinScopes, tokensOf, type OAuthClient } from './oauth-client.ts'
import type { OpenidProvider } from '#schemas/oauth-provider.ts'
import { isPlainHttp, isSafeAddress } from '#src/lib/addresses.ts'
import { AuthError } from '../errors.ts'
import { idTokenReader } from './id-token.ts'

const SCOPES = 'openid email profile'
/** Lifetime of cached metadata, which change rarely. Keys are fetched when an unknown key has signed. */
const METADATA_MS = 3_600_000
/** After a failure, the last value is used for this time before the next attempt. */
const RETRY_MS = 60_000
const ENDPOINTS = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const

/** An OpenID Connect provider. Its endpoints are discovered from its issuer. */
export function openidClient (
  settings: OpenidProvider, redirectUri: string, timeoutSeconds = PROVIDER_TIMEOUT_SECONDS
): OAuthClient {
  const configuration = cached(() => discover(settings, timeoutSeconds), METADATA_MS)
  const readIdToken = idTokenReader(settings, async () => (await configuration()).serverMetadata())

  return {
    idTokens: {
      issuer: settings.issuer,
      read: (token, checks) => readIdToken(token, checks).catch((err: unknown) => {
        throw err instanceof AuthError ? err : providerError(err)
      })
    },

    async authorizationUrl ({ state, nonce, verifier }, { scopes, parameters }) {
      try {
        return openid.buildAuthorizationUrl(await configuration(), {
          ...parameters,
          redirect_uri: redirectUri,
          scope: joinScopes(`openid ${settings.scopes ?? SCOPES}`, scopes),
          state,
          nonce,
          code_challenge: await openid.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
          ...(settings.response_mode === undefined ? {} : { response_mode: settings.response_mode })
        })
      } catch (err) {
        throw providerError(err)
      }
    },

    async exchangeCode ({ state, nonce, verifier }, callback) {
      try {
        const config = await configuration()
        const url = callbackUrl(redirectUri, callback, ['state', 'code', 'iss', 'error', 'error_description'])
        const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true }
        const tokens = await openid.authorizationCodeGrant(config, url, checks)
        const claims = tokens.claims()
        if (claims === undefined) throw unusableResponse('id_token')
        return { profile: await profileFrom(config, tokens.access_token, claims), tokens: tokensOf(tokens) }
      } catch (err) {
        throw providerError(err)
      }
    }
  }
}

async function discover (settings: OpenidProvider, timeout: number): Promise<openid.Configuration> {
  const { issuer, client_id, client_secret, token_endpoint_auth_method } = settings
  // Verifies ID token signatures even when the provider sends the token itself, because on loopback no TLS protects it.
  const execute = [openid.enableNonRepudiationChecks, ...(isPlainHttp(issuer) ? [openid.allowInsecureRequests] : [])]
  const authenticate: openid.ClientAuth = (server, client, body, headers) => {
    const supported = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    const method = token_endpoint_auth_method ?? supported.find((each) => each === 'client_secret_basic')
    const addCredentials = method === 'client_secret_basic' ? openid.ClientSecretBasic : openid.ClientSecretPost
    addCredentials(client_secret)(server, client, body, headers)
  }
  const config = await openid.discovery(new URL(issuer), client_id, undefined, authenticate, {
    execute, timeout, [openid.customFetch]: fetchFromProvider
  })
  // Check before caching, because unusable metadata must not stay in the cache for an hour.
  const metadata = config.serverMetadata()
  const unsafe = ENDPOINTS.find((name) => !isSafeAddress(metadata[name] ?? ''))
  if (unsafe !== undefined) throw unusableResponse(unsafe)
  return config
}

/** Reads the ID token, and the userinfo endpoint if the token does not show whether the address is verified. */
async function profileFrom (
  config: openid.Configuration, accessToken: string, claims: openid.IDToken
): Promise<Profile> {
  const isEnough = claims.email !== undefined && claims.email_verified !== undefined
  const { issuer, userinfo_endpoint } = config.serverMetadata()
  const userinfo: openid.UserInfoResponse | openid.IDToken =
    isEnough || userinfo_endpoint === undefined ? claims : await openid.fetchUserInfo(config, accessToken, claims.sub)
  // Both values from the same source, because `email_verified` refers to the address of that source.
  const { email, email_verified } = userinfo.email === undefined ? claims : userinfo
  const { name, preferred_username, nickname, picture } = { ...claims, ...userinfo }
  return profileOf({
    issuer,
    subject: claims.sub,
    email,
    emailVerified: email_verified,
    name,
    userName: preferred_username ?? nickname,
    picture
  })
}

/**
 * Caches a value that is expensive to load. Concurrent callers share one load. When a later load fails, the last value
 * is used for `RETRY_MS`. A failed first load is not cached.
 */
export function cached<T> (
  load: () => Promise<T>, freshMs: number, now: () => number = () => performance.now()
): () => Promise<T> {
  let last: { value: T; until: number } | undefined
  let loading: Promise<T> | undefined

  async function renew (): Promise<T> {
    try {
      const value = await load()
      last = { value, until: now() + freshMs }
      return value
    } catch (err) {
      if (last === undefined) throw err
      last.until = now() + RETRY_MS
      return last.value
    } finally {
      loading = undefined
    }
  }

  return async () => {
    if (last !== undefined && last.until > now()) return last.value
    loading ??= renew()
    return await loading
  }
}
