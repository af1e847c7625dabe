import type { Keys } from '#src/lib/secrets.ts'
import type { Profile } from './profile.ts'

export interface FlowSecrets {
  /** The PKCE secret for the provider (RFC 7636). */
  verifier: string
  /** The provider returns it in the ID token (OpenID Connect Core, 3.1.2.1). */
  nonce: string
  /** Stored in a cookie of the browser that started the flow. */
  browser: string
  /** The session of the request, when a person links an identity. */
  session_id?: string
}

/** The provider's own tokens, which the client gets with its session. */
export interface ProviderTokens { provider_token?: string, provider_refresh_token?: string }

export interface KeptForClient {
  tokens: ProviderTokens
  /** The identity to link. The client has proven by PKCE that it started the flow. */
  linking?: { profile: Profile, session_id: string }
  /** The session on this server's pages that the client's new session copies. */
  handover?: { session_id: string }
}

/* The secrets of a flow are encrypted for that flow only. */

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
