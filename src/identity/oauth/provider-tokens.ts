import type { Keys } from '#src/keys.ts'

/** The provider's own tokens, which the client gets with its session. */
export interface ProviderTokens { provider_token?: string, provider_refresh_token?: string }

export function sealProviderTokens (keys: Keys, flowId: string, tokens: ProviderTokens): Buffer {
  return keys.seal(JSON.stringify(tokens), `provider-tokens/${flowId}`)
}

export function openProviderTokens (keys: Keys, flowId: string, sealed: Buffer): ProviderTokens {
  return JSON.parse(keys.open(sealed, `provider-tokens/${flowId}`).toString()) as ProviderTokens
}
