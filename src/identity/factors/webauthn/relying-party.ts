import { isIP } from 'node:net'
import type { Config } from '#src/config/config.ts'

export interface RelyingParty {
  id: string
  /** The name that the browser shows to the user. */
  name: string
  origins: string[]
}

/** Undefined when no page can use passkeys: the host is an IP address, or no page is on the domain. */
export function relyingParty ({ PUBLIC_URL, CORS_ORIGINS, PASSKEY_DOMAIN }: Config): RelyingParty | undefined {
  const { hostname, origin } = new URL(PUBLIC_URL)
  const id = PASSKEY_DOMAIN ?? hostname
  if (isIP(id.replace(/^\[(.*)\]$/, '$1')) !== 0) return undefined
  const origins = [origin, ...CORS_ORIGINS].filter((each) => isWithin(new URL(each).hostname, id))
  return origins.length > 0 ? { id, name: 'Locanda', origins } : undefined
}

function isWithin (host: string, domain: string): boolean {
  return host === domain || host.endsWith(`.${domain}`)
}
