import { isIP } from 'node:net'
import { FORMS, type Environment } from '#schemas/config.ts'
import { isSafeAddress } from '#src/lib/addresses.ts'
import { isRedirectPattern } from '#src/lib/redirect-patterns.ts'
import { isDay } from '#src/lib/time.ts'

/** A variable and its error. The text is Italian and does not contain the value. */
type Fault = readonly [variable: keyof Environment, reason: string]
type Name = keyof Environment

/** Finds the first error in an environment. These rules concern several variables, or need more than a pattern. */
export function findFault (env: Environment): Fault | undefined {
  for (const check of CHECKS) {
    const fault = check(env)
    if (fault) return fault
  }
  return undefined
}

/** Splits a comma-separated list. */
export function splitList (value: string | undefined): string[] {
  return (value ?? '').split(',').map((item) => item.trim()).filter((item) => item !== '')
}

const CHECKS: readonly ((env: Environment) => Fault | false | undefined)[] = [
  formed('TODAY', isDay, 'deve essere un giorno del calendario, per esempio 2026-11-30'),
  ({ TODAY, ALLOGGIATI_MODE: mode }) =>
    TODAY !== undefined && mode === 'production' && ['TODAY', 'non è ammessa con ALLOGGIATI_MODE=production'],
  together('ALLOGGIATI_UTENTE', 'ALLOGGIATI_PASSWORD', 'ALLOGGIATI_WSKEY'),
  needs('ALLOGGIATI_UTENTE', 'ALLOGGIATI_MODE', 'con le credenziali va detto: sandbox o production'),
  ({ ALLOGGIATI_ENDPOINT: endpoint, ALLOGGIATI_MODE: mode }) =>
    endpoint !== undefined &&
    mode === 'sandbox' &&
    ['ALLOGGIATI_ENDPOINT', 'non è ammessa in sandbox, che ha un indirizzo suo'],
  needs('ALLOGGIATI_ENDPOINT', 'ALLOGGIATI_MODE', 'con ALLOGGIATI_ENDPOINT va detto: sandbox o production'),
  formed('ALLOGGIATI_ENDPOINT', isSafeAddress, 'deve essere https, o http su un indirizzo di loopback'),
  formed('PUBLIC_URL', isPlainAddress, 'deve essere schema://host[:porta][/percorso], senza utente, ? e #'),
  ...(['DATABASE_URL', 'REDIS_URL', 'SMTP_URL'] as const).map(decodable),
  databaseAddress,
  formed('REDIS_URL', (text) => URL.canParse(text), FORMS.REDIS_URL!),
  needs('BACKUP_DIR', 'BACKUP_PASSPHRASE'),
  together('ADMIN_EMAIL', 'ADMIN_PASSWORD'),
  formed('S3_ENDPOINT', isBareAddress, 'deve essere solo schema://host[:porta]'),
  together('S3_ENDPOINT', 'S3_BUCKET', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'),
  onlyWith('S3_ENDPOINT', 'S3_REGION'),
  needs('IDP_URL', 'IDP_ANON_KEY'),
  onlyWith('IDP_URL', 'IDP_JWT_SECRET', 'IDP_ANON_KEY', 'IDP_SERVICE_KEY'),
  notWith('IDP_URL', 'ADMIN_EMAIL', 'non è ammessa con IDP_URL: gli amministratori sono del provider'),
  notWith('IDP_URL', 'PASSKEY_DOMAIN', 'non è ammessa con IDP_URL: le passkey sono del provider'),
  ({ PASSKEY_DOMAIN, PUBLIC_URL, CORS_ORIGINS }) =>
    PASSKEY_DOMAIN !== undefined &&
    ![PUBLIC_URL, ...splitList(CORS_ORIGINS)].some((page) => isAt(page, PASSKEY_DOMAIN)) &&
    ['PASSKEY_DOMAIN', 'deve essere quello di PUBLIC_URL o di una delle CORS_ORIGINS, o uno sopra'],
  ({ SIGNUP_ENABLED, SMTP_URL }) =>
    SIGNUP_ENABLED && SMTP_URL === undefined && ['SIGNUP_ENABLED', 'vuole SMTP_URL: gli indirizzi vanno confermati'],
  together('OCR_PROVIDER', 'OCR_PROVIDER_URL', 'OCR_PROVIDER_KEY'),
  formed('OCR_PROVIDER_URL', isSafeAddress, 'deve essere https, o http su un indirizzo di loopback'),
  needs('SMTP_URL', 'MAIL_FROM'),
  needs('ALARM_EMAIL', 'SMTP_URL'),
  needs('PDF_ENGINE', 'PDF_ENGINE_URL'),
  needs('PDF_ENGINE_URL', 'PDF_ENGINE'),
  onlyWith('PDF_ENGINE_URL', 'PDF_ENGINE_KEY'),
  ({ PDF_ENGINE, PDF_ENGINE_KEY }) =>
    PDF_ENGINE === 'apitemplate' && PDF_ENGINE_KEY === undefined && ['PDF_ENGINE_KEY', 'manca: serve con apitemplate'],
  formed('PDF_ENGINE_URL', isSafeAddress, 'deve essere https, o http su un indirizzo di loopback, senza credenziali'),
  // With PUBLIC_URL set, an IPv6 address may have a zone (fe80::1%eth0).
  ({ HOST, PUBLIC_URL }) =>
    (PUBLIC_URL === undefined || isIP(HOST) === 0) &&
    !isHost(HOST) &&
    ['HOST', 'deve essere un indirizzo IP (uno con una zona, %, vuole PUBLIC_URL) o il nome di questa macchina'],
  formed('TRUST_PROXY', each(isCidr), 'deve essere un elenco di indirizzi o CIDR'),
  formed('CORS_ORIGINS', each(isOrigin), 'deve essere un elenco di origini (schema://host[:porta])'),
  formed(
    'REDIRECT_URLS',
    each(isRedirectPattern),
    'deve essere un elenco di indirizzi, senza utente, ? e #; * e ** stanno per una parte'
  )
]

/** Either all of these variables are set, or none. */
function together (...names: readonly Name[]) {
  return (env: Environment): Fault | undefined => {
    const missing = names.find((name) => env[name] === undefined)
    return missing === undefined || names.every((name) => env[name] === undefined)
      ? undefined
      : [missing, `manca: indicarla con ${names.filter((name) => name !== missing).join(', ')}, o toglierle tutte`]
  }
}

/** The first variable requires the second. */
function needs (name: Name, needed: Name, reason = `manca: serve con ${name}`) {
  return (env: Environment): Fault | undefined =>
    env[name] !== undefined && env[needed] === undefined ? [needed, reason] : undefined
}

/** The second variable must not be set with the first. */
function notWith (name: Name, other: Name, reason: string) {
  return (env: Environment): Fault | undefined =>
    env[name] !== undefined && env[other] !== undefined ? [other, reason] : undefined
}

function each (isGood: (item: string) => boolean) {
  return (list: string): boolean => splitList(list).every(isGood)
}

/** Validates a variable's value if it is set. */
function formed (name: Name, isGood: (text: string) => boolean, reason: string) {
  return (env: Environment): Fault | undefined =>
    env[name] !== undefined && !isGood(String(env[name])) ? [name, reason] : undefined
}

/** The other variables require the first. */
function onlyWith (needed: Name, ...names: readonly Name[]) {
  return (env: Environment): Fault | undefined => {
    const found = env[needed] === undefined ? names.find((name) => env[name] !== undefined) : undefined
    return found && [found, `vale solo con ${needed}, che manca: indicarla, o togliere questa`]
  }
}

/** Drivers percent-decode the passwords in URLs, so a literal `%` must be written `%25`. */
function decodable (name: 'DATABASE_URL' | 'REDIS_URL' | 'SMTP_URL') {
  return (env: Environment): Fault | undefined => {
    try {
      decodeURIComponent(env[name] ?? '')
      return undefined
    } catch {
      return [name, 'ha un % che non sta per un carattere: in una password va scritto %25']
    }
  }
}

/** Parses a URL as the driver does, because the error of the driver would not name the variable. */
function databaseAddress ({ DATABASE_URL: text }: Environment): Fault | undefined {
  if (text === undefined) return undefined
  const [place = ''] = text.slice(text.indexOf('://') + 3).split(/[?/]/)
  // The URL may name several hosts.
  const hosts = place.slice(place.indexOf('@') + 1)
  const first = text.replace(hosts, hosts.split(',')[0]!)
  return URL.canParse(first) && new URL(first).hash === ''
    ? undefined
    : ['DATABASE_URL', 'non è un indirizzo: in una password # va scritto %23, / %2F, ? %3F e @ %40']
}

/** Whether a text is valid as the host of a URL. Without `PUBLIC_URL`, the service's URL is built from `HOST`. */
function isHost (text: string): boolean {
  if (isIP(text) === 6) return URL.canParse(`http://[${text}]/`)
  return URL.canParse(`http://${text}/`) && !/[/?#@:\\[\]]/.test(text)
}

/** Whether the host of a page is the domain or one of its subdomains. */
function isAt (page: string | undefined, domain: string): boolean {
  if (page === undefined || !URL.canParse(page)) return false
  const { hostname } = new URL(page)
  return hostname === domain || hostname.endsWith(`.${domain}`)
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

/** Whether a text is a URL without credentials, path, query or fragment. */
function isBareAddress (text: string): boolean {
  return isPlainAddress(text) && new URL(text).pathname === '/'
}

/** Whether a text is a URL without credentials, query or fragment. */
function isPlainAddress (text: string): boolean {
  if (!URL.canParse(text)) return false
  // Refuse an empty query as well, because an appended path would become part of it.
  return !/[?#\\]|^\w+:\/\/[^/]*@/.test(text)
}

function isOrigin (text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text && !text.includes('*')
}
