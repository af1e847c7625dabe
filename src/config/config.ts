import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { envSchema } from 'env-schema'
import { Environment } from '#schemas/config.ts'
import { isSafeAddress } from '#src/lib/addresses.ts'
import { masterKey } from './master-key.ts'
import { parseProviders, type OAuthProvider } from './oauth-providers.ts'
import { isDay } from '#src/lib/time.ts'

/** Everything the server is told, parsed once. */
export type Config = Readonly<Omit<Environment, 'MASTER_KEY' | 'TRUST_PROXY' | 'CORS_ORIGINS' | 'OAUTH_PROVIDERS'> & {
  MASTER_KEY: Buffer
  /** CIDRs of the proxies whose `X-Forwarded-*` count; none: nobody's. */
  TRUST_PROXY: readonly string[]
  CORS_ORIGINS: readonly string[]
  OAUTH_PROVIDERS: readonly OAuthProvider[]
  ALLOGGIATI_MODE: 'sandbox' | 'production'
  /** PEM text of `ALLOGGIATI_CA_FILE`. */
  ALLOGGIATI_CA?: string
}>

/** A setting that stops the start: the message is one line and begins with the variable's name. */
export class ConfigError extends Error {
  constructor (variable: string, reason: string) {
    super(`${variable}: ${reason}`)
    this.name = 'ConfigError'
  }
}

type Environ = Record<string, string | undefined>
type Check = (env: Environment) => readonly [variable: string, reason: string] | undefined

/** What ties variables together, or needs more than a pattern. */
const CHECKS: readonly Check[] = [
  (env) => (env.TODAY !== undefined && !isDay(env.TODAY) ? ['TODAY', 'non è un giorno del calendario'] : undefined),
  (env) =>
    env.TODAY !== undefined && env.ALLOGGIATI_MODE === 'production'
      ? ['TODAY', 'non è ammessa con ALLOGGIATI_MODE=production']
      : undefined,
  (env) => together(env, ['ALLOGGIATI_UTENTE', 'ALLOGGIATI_PASSWORD', 'ALLOGGIATI_WSKEY']),
  (env) =>
    env.ALLOGGIATI_UTENTE !== undefined && env.ALLOGGIATI_MODE === undefined
      ? ['ALLOGGIATI_MODE', 'con le credenziali va detto: sandbox o production']
      : undefined,
  (env) =>
    env.ALLOGGIATI_MODE === 'sandbox' && env.ALLOGGIATI_ENDPOINT !== undefined
      ? ['ALLOGGIATI_ENDPOINT', 'non è ammessa in sandbox, che ha un indirizzo suo']
      : undefined,
  (env) =>
    env.ALLOGGIATI_ENDPOINT !== undefined && env.ALLOGGIATI_MODE === undefined
      ? ['ALLOGGIATI_MODE', 'con ALLOGGIATI_ENDPOINT va detto: sandbox o production']
      : undefined,
  (env) => endpointProblem(env.ALLOGGIATI_ENDPOINT),
  (env) => together(env, ['ADMIN_EMAIL', 'ADMIN_PASSWORD']),
  (env) => together(env, ['S3_ENDPOINT', 'S3_BUCKET', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY']),
  (env) =>
    env.IDP_URL !== undefined && env.IDP_ANON_KEY === undefined
      ? ['IDP_ANON_KEY', 'manca: serve con IDP_URL']
      : undefined,
  (env) =>
    env.IDP_URL === undefined
      ? onlyWith(env, 'IDP_URL', ['IDP_JWT_SECRET', 'IDP_ANON_KEY', 'IDP_SERVICE_KEY'])
      : undefined,
  (env) =>
    env.IDP_URL !== undefined && env.ADMIN_EMAIL !== undefined
      ? ['ADMIN_EMAIL', 'non è ammessa con IDP_URL: gli amministratori sono del provider']
      : undefined,
  (env) =>
    env.SIGNUP_ENABLED && env.SMTP_URL === undefined
      ? ['SIGNUP_ENABLED', 'vuole SMTP_URL: gli indirizzi vanno confermati']
      : undefined,
  (env) =>
    env.SMTP_URL !== undefined && env.MAIL_FROM === undefined ? ['MAIL_FROM', 'manca: serve con SMTP_URL'] : undefined,
  (env) =>
    list(env.TRUST_PROXY).some((cidr) => !isCidr(cidr))
      ? ['TRUST_PROXY', 'deve essere un elenco di indirizzi o CIDR']
      : undefined,
  (env) =>
    list(env.CORS_ORIGINS).some((origin) => !isOrigin(origin))
      ? ['CORS_ORIGINS', 'deve essere un elenco di origini (schema://host[:porta])']
      : undefined
]

/**
 * The configuration from an environment. A missing `MASTER_KEY` is read from, or generated into, `DATA_DIR`.
 * @throws ConfigError naming the variable
 */
export function readConfig (environ: Environ): Config {
  const env = parse(environ)
  for (const check of CHECKS) {
    const problem = check(env)
    if (problem) throw new ConfigError(...problem)
  }
  const dataDir = resolve(env.DATA_DIR)
  return Object.freeze({
    ...env,
    DATA_DIR: dataDir,
    PUBLIC_URL: (env.PUBLIC_URL ?? `http://${env.HOST.includes(':') ? `[${env.HOST}]` : env.HOST}:${env.PORT}`).replace(
      /\/+$/,
      ''
    ),
    ALLOGGIATI_MODE: env.ALLOGGIATI_MODE ?? 'sandbox',
    ALLOGGIATI_CA: readCa(env.ALLOGGIATI_CA_FILE),
    TRUST_PROXY: list(env.TRUST_PROXY),
    CORS_ORIGINS: list(env.CORS_ORIGINS),
    OAUTH_PROVIDERS: readProviders(env.OAUTH_PROVIDERS),
    MASTER_KEY: readMasterKey(env.MASTER_KEY, dataDir)
  })
}

function parse (environ: Environ): Environment {
  // An empty value is how shells and compose files spell "not set".
  const data = Object.fromEntries(
    Object.entries(environ).filter(([name, value]) => name in Environment.properties && value !== '')
  )
  try {
    return envSchema<Environment>({ schema: Environment, data, dotenv: false, env: false })
  } catch (err) {
    const first = err instanceof Error && 'errors' in err && Array.isArray(err.errors) ? err.errors[0] : undefined
    const variable = String(first?.instancePath ?? '').slice(1) || 'ambiente'
    throw new ConfigError(variable, `valore non valido (${first?.message ?? 'illeggibile'})`)
  }
}

function together (env: Environment, names: readonly (keyof Environment)[]): readonly [string, string] | undefined {
  const missing = names.filter((name) => env[name] === undefined)
  return missing.length > 0 && missing.length < names.length
    ? [missing[0]!, `manca: va con ${names.filter((name) => name !== missing[0]).join(', ')}`]
    : undefined
}

function onlyWith (
  env: Environment,
  needed: string,
  names: readonly (keyof Environment)[]
): readonly [string, string] | undefined {
  const found = names.find((name) => env[name] !== undefined)
  return found === undefined ? undefined : [found, `manca ${needed}, con cui va`]
}

function readProviders (json: string | undefined): OAuthProvider[] {
  try {
    return parseProviders(json)
  } catch (err) {
    throw new ConfigError('OAUTH_PROVIDERS', err instanceof Error ? err.message : 'non leggibile')
  }
}

function endpointProblem (endpoint: string | undefined): readonly [string, string] | undefined {
  return endpoint === undefined || isSafeAddress(endpoint)
    ? undefined
    : ['ALLOGGIATI_ENDPOINT', 'deve essere https, o http su un indirizzo di loopback']
}

function readCa (file: string | undefined): string | undefined {
  if (file === undefined) return undefined
  let pem: string
  try {
    pem = readFileSync(file, 'utf8')
  } catch {
    throw new ConfigError('ALLOGGIATI_CA_FILE', 'file non leggibile')
  }
  if (!pem.includes('-----BEGIN CERTIFICATE-----')) {
    throw new ConfigError('ALLOGGIATI_CA_FILE', 'nessun certificato PEM nel file')
  }
  return pem
}

function readMasterKey (base64: string | undefined, dataDir: string): Buffer {
  try {
    return masterKey(base64, dataDir)
  } catch (err) {
    throw new ConfigError('MASTER_KEY', err instanceof Error ? err.message : 'non leggibile')
  }
}

function list (value: string | undefined): string[] {
  return (value ?? '').split(',').map((item) => item.trim()).filter((item) => item !== '')
}

function isCidr (text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/')
  const family = isIP(address)
  if (family === 0 || rest.length > 0) return false
  return (
    prefix === undefined ||
    (/^\d{1,3}$/.test(prefix) && Number(prefix) >= 1 && Number(prefix) <= (family === 4 ? 32 : 128))
  )
}

function isOrigin (text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text && !text.includes('*')
}
