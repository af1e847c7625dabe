import type { Keys } from '#src/lib/secrets.ts'
import type { Profile } from './profile.ts'

/** The provider's own tokens, which the client gets with its session. */
export interface ProviderTokens { provider_token?: string, provider_refresh_token?: string }

/** What a flow keeps for the client that exchanges its code. */
export interface KeptForClient {
  tokens: ProviderTokens
  /** The identity that is linked then: the client has proven by PKCE that it is the one that asked for it. */
  linking?: { profile: Profile, session_id: string }
  /** The session on the pages of this server that the client gets one like. */
  handover?: { session_id: string }
}

/** Sealed until the client fetches it, and only for this flow. */
export function sealForClient (keys: Keys, flowId: string, kept: KeptForClient): Buffer {
  return keys.seal(JSON.stringify(kept), contextOf(flowId))
}

export function unsealForClient (keys: Keys, flowId: string, sealed: Buffer): KeptForClient {
  const kept: KeptForClient = JSON.parse(keys.unseal(sealed, contextOf(flowId)).toString())
  return kept
}

function contextOf (flowId: string): string {
  return `provider-tokens/${flowId}`
}
