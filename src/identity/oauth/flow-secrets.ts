import type { Keys } from '#src/lib/secrets.ts'

/** The secrets of a flow, kept until the provider's callback. */
export interface FlowSecrets {
  /** PKCE towards the provider (RFC 7636). */
  verifier: string
  /** Comes back in the ID token (OpenID Connect Core, 3.1.2.1). */
  nonce: string
  /** In a cookie of the browser that has begun the flow. */
  browser: string
  /** When a person links a further identity: the session that asked for it. */
  session_id?: string
}

export function sealFlowSecrets (keys: Keys, flowId: string, secrets: FlowSecrets): Buffer {
  return keys.seal(JSON.stringify(secrets), contextOf(flowId))
}

export function unsealFlowSecrets (keys: Keys, flowId: string, sealed: Buffer): FlowSecrets {
  const secrets: FlowSecrets = JSON.parse(keys.unseal(sealed, contextOf(flowId)).toString())
  return secrets
}

function contextOf (flowId: string): string {
  return `oauth-flow/${flowId}`
}
