import * as openid from 'openid-client'
import { CONTACT_SECONDS, contact } from './contact.ts'
import { providerProblem, unusable } from './problems.ts'
import { profileOf, type Profile } from './profile.ts'
import { answerUrl, joinScopes, tokensOf, type ProviderClient } from './provider-client.ts'
import type { OpenidProvider } from '#schemas/oauth-provider.ts'
import { isPlainHttp, isSafeAddress } from '#src/lib/addresses.ts'
import { remembered } from './remembered.ts'

const SCOPES = 'openid email profile'
/** Providers change their metadata seldom; keys are fetched when an unknown one signs. */
const METADATA_MS = 3_600_000
const ENDPOINTS = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const

/** A provider that speaks OpenID Connect: everything else about it is discovered from its issuer. */
export function openidClient (
  settings: OpenidProvider,
  redirectUri: string,
  timeoutSeconds = CONTACT_SECONDS
): ProviderClient {
  const configuration = remembered(() => discover(settings, timeoutSeconds), METADATA_MS)

  return {
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
        throw providerProblem(err)
      }
    },

    async complete ({ state, nonce, verifier }, answer) {
      try {
        const config = await configuration()
        const url = answerUrl(redirectUri, answer, ['state', 'code', 'iss', 'error', 'error_description'])
        const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true }
        const tokens = await openid.authorizationCodeGrant(config, url, checks)
        const claims = tokens.claims()
        if (claims === undefined) throw unusable('id_token')
        return { profile: await profileFrom(config, tokens.access_token, claims), tokens: tokensOf(tokens) }
      } catch (err) {
        throw providerProblem(err)
      }
    }
  }
}

async function discover (settings: OpenidProvider, timeout: number): Promise<openid.Configuration> {
  const { issuer, client_id, client_secret, token_endpoint_auth_method } = settings
  // The signature of ID tokens is checked although they come from the provider itself: loopback has no TLS to vouch for
  // them.
  const execute = [openid.enableNonRepudiationChecks, ...(isPlainHttp(issuer) ? [openid.allowInsecureRequests] : [])]
  const authenticate: openid.ClientAuth = (server, client, body, headers) => {
    const supported = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    const method = token_endpoint_auth_method ?? supported.find((each) => each === 'client_secret_basic')
    const show = method === 'client_secret_basic' ? openid.ClientSecretBasic : openid.ClientSecretPost
    show(client_secret)(server, client, body, headers)
  }
  const config = await openid.discovery(new URL(issuer), client_id, undefined, authenticate, {
    execute,
    timeout,
    [openid.customFetch]: contact
  })
  // Before it is kept: what is no use now would be none for as long as it is remembered.
  const metadata = config.serverMetadata()
  const useless = ENDPOINTS.find((name) => !isSafeAddress(metadata[name] ?? ''))
  if (useless !== undefined) throw unusable(useless)
  return config
}

/** From the ID token, and where that does not say which address is proven, from the userinfo endpoint. */
async function profileFrom (
  config: openid.Configuration,
  accessToken: string,
  claims: openid.IDToken
): Promise<Profile> {
  const isEnough = claims.email !== undefined && claims.email_verified !== undefined
  const { issuer, userinfo_endpoint } = config.serverMetadata()
  const userinfo: openid.UserInfoResponse | openid.IDToken =
    isEnough || userinfo_endpoint === undefined ? claims : await openid.fetchUserInfo(config, accessToken, claims.sub)
  // Both of one source: a proof is for the address that it came with.
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
