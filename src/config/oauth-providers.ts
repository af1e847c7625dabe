import { isSafeAddress } from '#src/lib/addresses.ts'

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
  /** `form_post` for providers that want it (Apple, with scopes): they come back with a form instead of a query. */
  response_mode?: string
  /** How the server shows its secret (RFC 7591); when not said, as the provider's metadata have it. */
  token_endpoint_auth_method?: string
  /** Other addresses than github.com's, for GitHub Enterprise Server. */
  authorization_endpoint?: string
  token_endpoint?: string
  userinfo_endpoint?: string
}

type Field = keyof OAuthProvider

const GITHUB = 'github'

const NAME = /^[a-z][a-z0-9_-]{0,39}$/
/** Identities that are no provider's. */
const TAKEN = ['email', 'phone']
const OPENID_ONLY = ['issuer', 'response_mode', 'token_endpoint_auth_method'] as const
const GITHUB_ONLY = ['authorization_endpoint', 'token_endpoint', 'userinfo_endpoint'] as const
const FIELDS: readonly Field[] = ['name', 'client_id', 'client_secret', 'scopes', ...OPENID_ONLY, ...GITHUB_ONLY]
const ADDRESSES = ['issuer', ...GITHUB_ONLY] as const
const CHOICES: readonly (readonly [field: Field, choices: readonly string[]])[] = [
  ['response_mode', ['query', 'form_post']],
  ['token_endpoint_auth_method', ['client_secret_basic', 'client_secret_post']]
]

/**
 * The providers of `OAUTH_PROVIDERS`, a JSON list of objects.
 * @throws Error (Italian, without the secrets) when it is malformed
 */
export function parseProviders (json: string | undefined): OAuthProvider[] {
  if (json === undefined) return []
  const list = parse(json)
  if (!Array.isArray(list)) throw new Error('deve essere un elenco JSON')
  const providers = list.map((item: unknown, at) => readProvider(item, `[${at}]`))
  const names = new Set(providers.map(({ name }) => name))
  if (names.size < providers.length) throw new Error('due provider hanno lo stesso name')
  return providers
}

/** Whether an address is plain http, which it may be on this machine alone. */
export function isPlainHttp (address: string): boolean {
  return new URL(address).protocol === 'http:'
}

function parse (json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw new Error('non è JSON')
  }
}

function readProvider (item: unknown, at: string): OAuthProvider {
  const { name, client_id, client_secret, ...others } = readTexts(item, at)
  if (name === undefined) throw new Error(`${at}.name manca`)
  if (client_id === undefined) throw new Error(`${at}.client_id manca`)
  if (client_secret === undefined) throw new Error(`${at}.client_secret manca`)
  const provider: OAuthProvider = { name, client_id, client_secret, ...others }
  const problem = problemOf(provider)
  if (problem !== undefined) throw new Error(`${at}.${problem}`)
  return provider
}

function problemOf (provider: OAuthProvider): string | undefined {
  const { name, issuer } = provider
  if (!NAME.test(name) || TAKEN.includes(name)) return 'name non è ammesso'
  if (name !== GITHUB && issuer === undefined) return 'issuer manca'
  const foreign = (name === GITHUB ? OPENID_ONLY : GITHUB_ONLY).find((field) => provider[field] !== undefined)
  if (foreign !== undefined) return `${foreign} non vale per ${name}`
  const unsafe = ADDRESSES.find((field) => provider[field] !== undefined && !isSafeAddress(provider[field]))
  if (unsafe !== undefined) return `${unsafe} deve essere https, o http su loopback`
  const wrong = CHOICES.find(([field, choices]) => provider[field] !== undefined && !choices.includes(provider[field]))
  return wrong && `${wrong[0]} può essere ${wrong[1].join(' o ')}`
}

function readTexts (item: unknown, at: string): Partial<Record<Field, string>> {
  if (typeof item !== 'object' || item === null) throw new Error(`${at} deve essere un oggetto`)
  const texts: Partial<Record<Field, string>> = {}
  for (const [key, value] of Object.entries(item)) {
    const field = FIELDS.find((known) => known === key)
    if (field === undefined) throw new Error(`${at} ha un campo sconosciuto: ${key.slice(0, 40)}`)
    if (typeof value !== 'string' || value === '') throw new Error(`${at}.${field} deve essere un testo`)
    texts[field] = value
  }
  return texts
}
