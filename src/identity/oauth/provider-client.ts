import type { Profile } from './profile.ts'
import type { ProviderTokens } from './provider-tokens.ts'

/**
 * One way through a provider: what it must bring back (`state`, `nonce`), and what the server proves with (`verifier`).
 */
export interface Way { state: string, nonce: string, verifier: string }

/** What a client asks of the provider beyond the usual. */
export interface Wishes {
  scopes?: string
  /** Further parameters of the authorization request. */
  parameters: Record<string, string>
}

/** What comes back by the browser. */
export type Answer = Partial<Record<'state' | 'code' | 'iss' | 'error' | 'error_description', string>>

/** A provider as the server talks to it. Everything it throws on purpose is an OAuthProblem. */
export interface ProviderClient {
  /** Where the person proves to the provider who they are. */
  authorizationUrl (way: Way, wishes: Wishes): Promise<URL>
  /** Exchanges the code, and asks who it is. */
  complete (way: Way, answer: Answer): Promise<{ profile: Profile, tokens: ProviderTokens }>
}

const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/** The usual scopes and those that a client asks for (RFC 6749, section 3.3). */
export function joinScopes (usual: string, asked = ''): string {
  return [...new Set(`${usual} ${asked}`.split(/[ ,]+/).filter((scope) => SCOPE.test(scope)))].join(' ')
}

/** Where the provider has led the browser, with what this service reads of it. */
export function answerUrl (redirectUri: string, answer: Answer, fields: readonly (keyof Answer)[]): URL {
  const url = new URL(redirectUri)
  for (const field of fields) if (answer[field] !== undefined) url.searchParams.set(field, answer[field])
  return url
}

/** The tokens of the provider under the names that clients know. */
export function tokensOf ({
  access_token,
  refresh_token
}: {
  access_token: string
  refresh_token?: string
}): ProviderTokens {
  return {
    provider_token: access_token,
    ...(refresh_token === undefined ? {} : { provider_refresh_token: refresh_token })
  }
}
