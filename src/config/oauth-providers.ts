import { Ajv, type ErrorObject } from 'ajv'
import { GITHUB, GithubProvider, OpenidProvider, type OAuthProvider } from '#schemas/oauth-provider.ts'
import { isSafeAddress } from '#src/lib/addresses.ts'

/** Italian texts for JSON Schema keywords. */
const MESSAGES: Readonly<Record<string, (params: Record<string, unknown>) => string>> = {
  minLength: () => 'deve essere un testo',
  pattern: () => 'non è ammesso',
  format: () => 'deve essere https, o http su loopback',
  enum: ({ allowedValues }) => `può essere ${(allowedValues as string[]).join(' o ')}`
}

/**
 * Parses `OAUTH_PROVIDERS`, a JSON list of objects.
 * @throws Error (Italian, without the secrets) if it is malformed
 */
export function parseProviders (json: string | undefined): OAuthProvider[] {
  if (json === undefined) return []
  const list = parse(json)
  if (!Array.isArray(list)) throw new Error('deve essere un elenco JSON')
  const ajv = new Ajv().addFormat('safe-address', isSafeAddress)
  const isOpenid = ajv.compile<OpenidProvider>(OpenidProvider)
  const isGithub = ajv.compile<GithubProvider>(GithubProvider)
  const providers = list.map((item: unknown, index) => {
    const name = nameOf(item)
    const isProvider = name === GITHUB ? isGithub : isOpenid
    if (isProvider(item)) return item
    throw new Error(`[${index}]${describe(isProvider.errors![0]!, name)}`)
  })
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

function nameOf (item: unknown): unknown {
  return typeof item === 'object' && item !== null && 'name' in item ? item.name : undefined
}

/** The invalid field and its error. The text omits the value, which may be a secret. */
function describe ({ keyword, params, instancePath }: ErrorObject, name: unknown): string {
  const field = instancePath.replace('/', '.')
  if (keyword === 'required') return `.${params.missingProperty} manca`
  if (keyword === 'additionalProperties') {
    const kind = name === GITHUB ? GITHUB : 'un provider OpenID Connect'
    return ` ha un campo che ${kind} non ha: ${String(params.additionalProperty).slice(0, 40)}`
  }
  if (keyword === 'type') return field === '' ? ' deve essere un oggetto' : `${field} deve essere un testo`
  return `${field} ${MESSAGES[keyword]?.(params) ?? 'non è valido'}`
}
