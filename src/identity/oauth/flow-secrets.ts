import type { Keys } from '#src/lib/secrets.ts'
import type { Profile } from './profile.ts'

export interface FlowSecrets {
  /** PKCE towards the provider (RFC 7636). */
  verifier: string
  /** Returned in the ID token (OpenID Connect Core, 3.1.2.1). */
  nonce: string
  /** Stored in a cookie of the browser that started the flow. */
  browser: string
  /** Set when a person links an identity: the session of that request. */
  session_id?: string
}

/** The provider's own tokens, which the client gets with its session. */
export interface ProviderTokens { provider_token?: string, provider_refresh_token?: string }

export interface KeptForClient {
  tokens: ProviderTokens
  /** The identity to link. By PKCE the client has proven that it started the flow. */
  linking?: { profile: Profile, session_id: string }
  /** The session on this server's pages that the client's new session copies. */
  handover?: { session_id: string }
}

/* Each flow's secrets are encrypted for that flow only. */

export function sealFlowSecrets (keys: Keys, flowId: string, secrets: FlowSecrets): Buffer {
  return keys.seal(JSON.stringify(secrets), `oauth-flow/${flowId}`)
}

export function unsealFlowSecrets (keys: Keys, flowId: string, sealed: Buffer): FlowSecrets {
  return JSON.parse(keys.unseal(sealed, `oauth-flow/${flowId}`).toString()) as FlowSecrets
}

export function sealForClient (keys: Keys, flowId: string, kept: KeptForClient): Buffer {
  return keys.seal(JSON.stringify(kept), `provider-tokens/${flowId}`)
}

export function unsealForClient (keys: Keys, flowId: string, sealed: Buffer): KeptForClient {
  return JSON.parse(keys.unseal(sealed, `provider-tokens/${flowId}`).toString()) as KeptForClient
}
