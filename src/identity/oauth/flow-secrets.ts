import type { Keys } from '#src/lib/secrets.ts'

/** What is kept of a way through a provider until it comes back, and nobody else knows. */
export interface FlowSecrets {
  /** PKCE towards the provider (RFC 7636). */
  verifier: string
  /** In the ID token again (OpenID Connect Core, 3.1.2.1). */
  nonce: string
  /** Of who is linking a further identity: the login that asked for it. */
  session_id?: string
}

export function sealFlowSecrets (keys: Keys, flowId: string, secrets: FlowSecrets): Buffer {
  return keys.seal(JSON.stringify(secrets), contextOf(flowId))
}

export function openFlowSecrets (keys: Keys, flowId: string, sealed: Buffer): FlowSecrets {
  const secrets: FlowSecrets = JSON.parse(keys.unseal(sealed, contextOf(flowId)).toString())
  return secrets
}

function contextOf (flowId: string): string {
  return `oauth-flow/${flowId}`
}
