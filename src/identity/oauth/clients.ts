import type { Config } from '#src/config/config.ts'
import { githubClient } from './github.ts'
import { openidClient } from './openid.ts'
import type { ProviderClient } from './provider-client.ts'

/** The providers of this installation by name. Nothing is asked of them before somebody signs in. */
export function providerClients ({
  OAUTH_PROVIDERS,
  PUBLIC_URL
}: Pick<Config, 'OAUTH_PROVIDERS' | 'PUBLIC_URL'>): ReadonlyMap<string, ProviderClient> {
  // In the spelling in which it is registered there, and compared to the letter (RFC 6749, section 3.1.2.3).
  const redirectUri = new URL(`${PUBLIC_URL}/auth/v1/callback`).href
  return new Map(
    OAUTH_PROVIDERS.map((provider) => [
      provider.name,
      'issuer' in provider ? openidClient(provider, redirectUri) : githubClient(provider, redirectUri)
    ])
  )
}
