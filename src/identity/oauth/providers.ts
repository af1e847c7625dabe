/** A provider through which people can sign in: OpenID Connect by its issuer, or GitHub, which is plain OAuth 2. */
export interface OAuthProvider {
  /** As it appears in addresses and identities, e.g. `google`. */
  name: string
  client_id: string
  client_secret: string
  /** OpenID Connect Discovery starts here. GitHub has none. */
  issuer?: string
  /** What is asked for; `openid email profile` when not said, for GitHub `read:user user:email`. */
  scopes?: string
  /** Other addresses than github.com's, for GitHub Enterprise Server. */
  authorization_endpoint?: string
  token_endpoint?: string
  userinfo_endpoint?: string
}

const NAME = /^[a-z][a-z0-9_-]{0,39}$/
const FIELDS = ['name', 'client_id', 'client_secret', 'issuer', 'scopes', 'authorization_endpoint', 'token_endpoint', 'userinfo_endpoint'] as const
const NEEDED = ['name', 'client_id', 'client_secret'] as const

/**
 * The providers of `OAUTH_PROVIDERS`, a JSON list of objects.
 * @throws Error (Italian, without the secrets) when it is malformed
 */
export function parseProviders (json: string | undefined): OAuthProvider[] {
  if (json === undefined) return []
  const list = parse(json)
  if (!Array.isArray(list)) throw new Error('deve essere un elenco JSON')
  const providers = list.map((item: unknown, at) => readProvider(item, at))
  const names = new Set(providers.map(({ name }) => name))
  if (names.size < providers.length) throw new Error('due provider hanno lo stesso name')
  return providers
}

function parse (json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw new Error('non è JSON')
  }
}

function readProvider (item: unknown, at: number): OAuthProvider {
  if (typeof item !== 'object' || item === null) throw new Error(`[${at}] deve essere un oggetto`)
  const fields = item as Record<string, unknown>
  const unknown = Object.keys(fields).find((field) => !FIELDS.some((known) => known === field))
  if (unknown !== undefined) throw new Error(`[${at}] ha un campo sconosciuto: ${unknown.slice(0, 40)}`)
  const wrong = FIELDS.find((field) => fields[field] !== undefined && (typeof fields[field] !== 'string' || fields[field] === ''))
  if (wrong !== undefined) throw new Error(`[${at}].${wrong} deve essere un testo`)
  const missing = NEEDED.find((field) => fields[field] === undefined)
  if (missing !== undefined) throw new Error(`[${at}].${missing} manca`)
  const provider = fields as unknown as OAuthProvider
  if (!NAME.test(provider.name) || provider.name === 'email' || provider.name === 'phone') throw new Error(`[${at}].name non è ammesso`)
  if (provider.name !== 'github' && provider.issuer === undefined) throw new Error(`[${at}].issuer manca`)
  for (const field of ['issuer', 'authorization_endpoint', 'token_endpoint', 'userinfo_endpoint'] as const) {
    if (provider[field] !== undefined && !isSafe(provider[field])) throw new Error(`[${at}].${field} deve essere https, o http su loopback`)
  }
  return provider
}

function isSafe (address: string): boolean {
  if (!URL.canParse(address)) return false
  const { protocol, hostname } = new URL(address)
  return protocol === 'https:' || (protocol === 'http:' && ['127.0.0.1', 'localhost', '[::1]'].includes(hostname))
}
