import type { IdTokenChecks } from './id-token.ts'
import type { Profile } from './profile.ts'
import type { ProviderTokens } from './flow-secrets.ts'

/**
 * The values that bind a callback to its flow. The provider returns `state` and `nonce`. `verifier` is the PKCE secret.
 */
interface FlowChecks { state: string, nonce: string, verifier: string }

export interface AuthorizationExtras {
  scopes?: string
  parameters: Record<string, string>
}

export type CallbackParameters = Partial<Record<'state' | 'code' | 'iss' | 'error' | 'error_description', string>>

/** This server as an OAuth client of one provider. It throws expected errors as OAuthError. */
export interface OAuthClient {
  authorizationUrl (checks: FlowChecks, extras: AuthorizationExtras): Promise<URL>
  exchangeCode (checks: FlowChecks, callback: CallbackParameters): Promise<{ profile: Profile, tokens: ProviderTokens }>
  /** For providers with ID tokens: the issuer, and a function that reads the profile from a token. */
  idTokens?: {
    issuer: string
    /** @throws AuthError validation_failed, OAuthError when the provider fails */
    read (token: string, checks: IdTokenChecks): Promise<Profile>
  }
}

const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/** The default scopes plus those that a client requests (RFC 6749, section 3.3). */
export function joinScopes (defaults: string, requested = ''): string {
  return [...new Set(`${defaults} ${requested}`.split(/[ ,]+/).filter((scope) => SCOPE.test(scope)))].join(' ')
}

/** The callback's URL, with only the fields that this client reads. */
export function callbackUrl (
  redirectUri: string, callback: CallbackParameters, fields: readonly (keyof CallbackParameters)[]
): URL {
  const url = new URL(redirectUri)
  for (const field of fields) if (callback[field] !== undefined) url.searchParams.set(field, callback[field])
  return url
}

export function tokensOf ({ access_token, refresh_token }: {
  access_token: string
  refresh_token?: string
}): ProviderTokens {
  return {
    provider_token: access_token, ...(refresh_token === undefined ? {} : { provider_refresh_token: refresh_token })
  }
}
