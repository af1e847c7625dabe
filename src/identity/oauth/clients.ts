import type { Config } from '#src/config/config.ts'
import type { OAuthClient } from './client.ts'
import { githubClient } from './github.ts'
import { openidClient } from './openid.ts'

/** This server as a client of each provider in the settings, by the provider's name. */
export type OAuthClients = ReadonlyMap<string, OAuthClient>

/** As it is registered at the provider, which compares it letter by letter (RFC 6749, section 3.1.2.3). */
export function callbackAddress ({ PUBLIC_URL }: Pick<Config, 'PUBLIC_URL'>): string {
  return new URL(`${PUBLIC_URL}/auth/v1/callback`).href
}

/** The clients of the providers in the settings, by name. They ask a provider only when a person signs in there. */
export function oauthClients (config: Pick<Config, 'PUBLIC_URL' | 'OAUTH_PROVIDERS'>): OAuthClients {
  const redirectUri = callbackAddress(config)
  return new Map(
    config.OAUTH_PROVIDERS.map((provider) => [
      provider.name,
      'issuer' in provider ? openidClient(provider, redirectUri) : githubClient(provider, redirectUri)
    ])
  )
}
