import type { Keys } from '#src/lib/secrets.ts'

/** The provider's own tokens, which the client gets with its session. */
export interface ProviderTokens { provider_token?: string, provider_refresh_token?: string }

/** Sealed until the client fetches them, and only for this flow. */
export function sealProviderTokens (keys: Keys, flowId: string, tokens: ProviderTokens): Buffer {
  return keys.seal(JSON.stringify(tokens), contextOf(flowId))
}

export function unsealProviderTokens (keys: Keys, flowId: string, sealed: Buffer): ProviderTokens {
  const tokens: ProviderTokens = JSON.parse(keys.unseal(sealed, contextOf(flowId)).toString())
  return tokens
}

function contextOf (flowId: string): string {
  return `provider-tokens/${flowId}`
}
