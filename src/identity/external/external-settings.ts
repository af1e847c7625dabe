import { ConfigError, type Config } from '#src/config/config.ts'
import { safeAddress } from '#src/lib/addresses.ts'

/** The URL of the external provider, and its keys. */
export interface ExternalSettings extends Pick<Config, 'REQUIRE_MFA'> {
  /** The public URL of the provider, without a trailing slash. */
  url: string
  /** The base URL of the provider's Supabase Auth API. It is also the issuer of the provider's tokens. */
  base: string
  anonKey: string
  serviceKey: string | undefined
  /** The secret of the provider's HS256 tokens. Without it such tokens are rejected. */
  jwtSecret: Buffer | undefined
}

export function externalSettings (config: Config): ExternalSettings {
  const { IDP_URL, IDP_ANON_KEY, IDP_SERVICE_KEY, IDP_JWT_SECRET, REQUIRE_MFA } = config
  const url = safeUrl(IDP_URL ?? '')
  // If a public key were the shared secret, anyone who can read that key could sign tokens.
  if (IDP_JWT_SECRET?.includes('-----BEGIN')) {
    throw new ConfigError('IDP_JWT_SECRET', 'è una chiave asimmetrica: qui va solo un segreto condiviso')
  }
  return {
    url,
    base: `${url}/auth/v1`,
    anonKey: IDP_ANON_KEY ?? '',
    serviceKey: IDP_SERVICE_KEY,
    jwtSecret: IDP_JWT_SECRET === undefined ? undefined : Buffer.from(IDP_JWT_SECRET),
    REQUIRE_MFA
  }
}

function safeUrl (text: string): string {
  try {
    const { search, hash } = safeAddress(text)
    if (search === '' && hash === '') return text.replace(/\/+$/, '')
  } catch {}
  throw new ConfigError('IDP_URL', 'deve essere https, o http su un indirizzo di loopback, senza credenziali né query')
}
