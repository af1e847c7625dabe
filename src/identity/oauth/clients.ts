import type { Config } from '#src/config/config.ts'
import type { OAuthClient } from './oauth-client.ts'
import { githubClient } from './github.ts'
import { openidClient } from './openid.ts'

export type OAuthClients = ReadonlyMap<string, OAuthClient>

/** Exactly the registered callback URL, because providers compare it as a string (RFC 6749, section 3.1.2.3). */
export function callbackAddress ({ PUBLIC_URL }: Pick<Config, 'PUBLIC_URL'>): string {
  return new URL(`${PUBLIC_URL}/auth/v1/callback`).href
}

export function oauthClients (config: Pick<Config, 'PUBLIC_URL' | 'OAUTH_PROVIDERS'>): OAuthClients {
  const redirectUri = callbackAddress(config)
  return new Map(
    config.OAUTH_PROVIDERS.map((provider) => [
      provider.name, 'issuer' in provider ? openidClient(provider, redirectUri) : githubClient(provider, redirectUri)
    ])
  )
}
