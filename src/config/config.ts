import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { ErrorObject } from 'ajv'
import { envSchema } from 'env-schema'
import { Environment, FORMS } from '#schemas/config.ts'
import type { OAuthProvider } from '#schemas/oauth-provider.ts'
import { isLoopbackHost } from '#src/lib/addresses.ts'
import { countWithNoun } from '#src/lib/count-with-noun.ts'
import { requireOtherPlace } from './backup-folder.ts'
import { findFault, splitList } from './checks.ts'
import { ConfigError, dataFolderError } from './data-folder.ts'
import { masterKey, type MasterKey } from './master-key.ts'
import { parseProviders } from './oauth-providers.ts'

type Read =
  | 'PUBLIC_URL' | 'MASTER_KEY' | 'TRUST_PROXY' | 'CORS_ORIGINS' | 'REDIRECT_URLS' | 'OAUTH_PROVIDERS'
  | 'ALLOGGIATI_MODE' | 'ALARM_EMAIL'

/** The configuration of the server, parsed once. */
export type Config = Readonly<Omit<Environment, Read> & {
  /** Without a trailing slash. */
  PUBLIC_URL: string
  MASTER_KEY: Buffer
  /** The source of the master key. */
  MASTER_KEY_ORIGIN: Pick<MasterKey, 'file' | 'isNew'>
  /** CIDRs of proxies whose `X-Forwarded-*` headers are trusted. May be empty. */
  TRUST_PROXY: readonly string[]
  CORS_ORIGINS: readonly string[]
  /** URLs and URL patterns (`lib/redirect-patterns.ts`). */
  REDIRECT_URLS: readonly string[]
  OAUTH_PROVIDERS: readonly OAuthProvider[]
  ALLOGGIATI_MODE: NonNullable<Environment['ALLOGGIATI_MODE']>
  /** Recipients of alarms. If empty, alarms are only logged. */
  ALARM_EMAIL: readonly string[]
  /** PEM text of `ALLOGGIATI_CA_FILE`. */
  ALLOGGIATI_CA?: string
}>

export { ConfigError, makeDataFolder, requireBackupFolder } from './data-folder.ts'

/**
 * Reads the configuration from an environment. A missing `MASTER_KEY` is read from `DATA_DIR` or generated there.
 * @throws ConfigError, which names the variable
 */
export function readConfig (environ: Readonly<Record<string, string | undefined>>): Config {
  const env = parse(environ)
  const fault = findFault(env)
  if (fault) throw new ConfigError(...fault)
  const dataDir = resolve(env.DATA_DIR)
  if (env.BACKUP_DIR !== undefined) requireOtherPlace(env.BACKUP_DIR, dataDir)
  const { key, ...origin } = named('MASTER_KEY', () => masterKey(env.MASTER_KEY, dataDir), dataDir)
  return Object.freeze({
    ...env,
    DATA_DIR: dataDir,
    PUBLIC_URL: publicUrl(env),
    ALLOGGIATI_MODE: env.ALLOGGIATI_MODE ?? 'sandbox',
    ALLOGGIATI_CA: readCertificates(env.ALLOGGIATI_CA_FILE),
    ALARM_EMAIL: splitList(env.ALARM_EMAIL),
    TRUST_PROXY: splitList(env.TRUST_PROXY),
    CORS_ORIGINS: splitList(env.CORS_ORIGINS),
    REDIRECT_URLS: splitList(env.REDIRECT_URLS),
    OAUTH_PROVIDERS: named('OAUTH_PROVIDERS', () => parseProviders(env.OAUTH_PROVIDERS)),
    MASTER_KEY: key,
    MASTER_KEY_ORIGIN: origin
  })
}

function parse (environ: Readonly<Record<string, string | undefined>>): Environment {
  // Shells and compose files express an unset variable as an empty value.
  const data = Object.fromEntries(
    Object.entries(environ).filter(([name, value]) => Object.hasOwn(Environment.properties, name) && value !== '')
  )
  try {
    return envSchema<Environment>({ schema: Environment, data, dotenv: false, env: false })
  } catch (err) {
    const first = err instanceof Error && 'errors' in err && Array.isArray(err.errors) ? err.errors[0] : undefined
    const variable = String(first?.instancePath ?? '').slice(1)
    throw new ConfigError(variable || 'ambiente', `valore non valido: ${reasonOf(variable, first)}`)
  }
}

/** Italian texts for JSON Schema keywords. */
const WORDS: Readonly<Record<string, (params: Record<string, unknown>) => string>> = {
  type: ({ type }) => TYPES[String(type)] ?? 'deve essere un testo',
  minimum: ({ limit }) => `deve essere almeno ${String(limit)}`,
  maximum: ({ limit }) => `deve essere al massimo ${String(limit)}`,
  minLength: ({ limit }) => `deve avere almeno ${countWithNoun(Number(limit), 'carattere', 'caratteri')}`,
  maxLength: ({ limit }) => `deve avere al massimo ${countWithNoun(Number(limit), 'carattere', 'caratteri')}`,
  enum: ({ allowedValues }) => `può essere ${(allowedValues as string[]).join(', ')}`
}
const TYPES: Readonly<Record<string, string>> = {
  integer: 'deve essere un numero intero',
  boolean: 'deve essere true o false'
}

function reasonOf (variable: string, fault: Partial<ErrorObject> | undefined): string {
  if (fault?.keyword === 'pattern') return FORMS[variable] ?? 'non ha la forma giusta'
  return WORDS[fault?.keyword ?? '']?.(fault?.params ?? {}) ?? 'illeggibile'
}

function publicUrl ({ PUBLIC_URL, HOST, PORT }: Environment): string {
  const host = HOST.includes(':') ? `[${HOST}]` : HOST
  return (PUBLIC_URL ?? `http://${host}:${PORT}`).replace(/\/+$/, '')
}

function readCertificates (file: string | undefined): string | undefined {
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

/** Wraps an error so that its message names the variable, or the folder of its file. */
function named<T> (variable: string, read: () => T, folder?: string): T {
  try {
    return read()
  } catch (err) {
    if (err instanceof ConfigError) throw err
    if (folder !== undefined && err instanceof Error && 'code' in err) throw dataFolderError(folder, err)
    throw new ConfigError(variable, err instanceof Error ? err.message : 'non leggibile')
  }
}

/** Warnings about settings that are valid but probably unintended. Each is a fixed log line. */
export function configWarnings ({ PUBLIC_URL, ALLOGGIATI_MODE, ALLOGGIATI_UTENTE, BACKUP_DIR }: Config): string[] {
  const { hostname, protocol } = new URL(PUBLIC_URL)
  const isProduction = ALLOGGIATI_MODE === 'production'
  return [
    ...(hostname === '0.0.0.0' || hostname === '[::]'
      ? ['PUBLIC_URL is not set, and HOST is every address: links in mails and pages do not work']
      : []),
    ...(isProduction && protocol === 'http:' && !isLoopbackHost(hostname)
      ? ['PUBLIC_URL is plain http: passwords and guests\' data cross the network unencrypted']
      : []),
    ...(isProduction && ALLOGGIATI_UTENTE === undefined
      ? ['production mode without credentials of the police: nothing can be sent']
      : []),
    // `locanda doctor` also reports it.
    ...(isProduction && BACKUP_DIR === undefined
      ? ['no nightly backups: set BACKUP_DIR and BACKUP_PASSPHRASE']
      : [])
  ]
}
