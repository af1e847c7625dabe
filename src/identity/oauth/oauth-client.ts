import type { IdTokenChecks } from './id-token.ts'
import type { Profile } from './profile.ts'
import type { ProviderTokens } from './flow-secrets.ts'

/**
 * What binds a callback to its flow: `state` and `nonce` come back from the provider, `verifier` is the PKCE secret.
 */
export interface FlowChecks { state: string, nonce: string, verifier: string }

export interface AuthorizationExtras {
  scopes?: string
  parameters: Record<string, string>
}

export type CallbackParameters = Partial<Record<'state' | 'code' | 'iss' | 'error' | 'error_description', string>>

/** This server as an OAuth client of one provider. Its expected errors are OAuthErrors. */
export interface OAuthClient {
  authorizationUrl (checks: FlowChecks, extras: AuthorizationExtras): Promise<URL>
  exchangeCode (checks: FlowChecks, callback: CallbackParameters): Promise<{ profile: Profile, tokens: ProviderTokens }>
  /** Where the provider has ID tokens: whose they are, and who they say that somebody is. */
  idTokens?: {
    issuer: string
    /** @throws AuthError validation_failed */
    read (token: string, checks: IdTokenChecks): Promise<Profile>
  }
}

const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/** The usual scopes and those that a client asks for (RFC 6749, section 3.3). */
export function joinScopes (usual: string, asked = ''): string {
  return [...new Set(`${usual} ${asked}`.split(/[ ,]+/).filter((scope) => SCOPE.test(scope)))].join(' ')
}

/** The address of the callback, with the fields that this client reads. */
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
