import type { Static } from '@sinclair/typebox'
import { MintQuery, type ApiKey, type MintedKey } from '#schemas/api-key.ts'
import type { ClientConfig } from '#schemas/operator.ts'
import { baseUrl, isPrivate, type Context } from './command-context.ts'
import { usageError } from './errors.ts'
import { askProvider, proveSecondFactor, signedIn, type Provider, type SignIn } from './provider-session.ts'
import { expectBody } from './server-call.ts'
import { isKey } from './stored-key.ts'
import { ask, isInteractive, secretOf } from './terminal.ts'

/**
 * Signs a person in, creates a key, and signs out again, also after a failure. A failed sign-out is only a warning.
 * @param email if missing, the terminal asks for it
 * @throws CliError
 */
export async function mintKey (
  context: Context,
  base: string,
  email: string | undefined,
  { days, scopes }: { days?: number, scopes?: readonly string[] } = {}
): Promise<MintedKey> {
  requirePrivate(base)
  if (email === undefined && !isInteractive(context.terminal)) {
    throw usageError('Senza un terminale l’indirizzo va indicato con --email')
  }
  const provider = await providerOf(context, base)
  let person = await signInWithPassword(context, provider, email)
  try {
    person = await proveSecondFactor(context, person)
    const name = context.terminal.hostname.slice(0, MintQuery.properties.name.maxLength)
    const response = await context.send(base, '/api/cli/auth/key', {
      query: { name, days, scopes: scopes?.join(',') },
      headers: { authorization: `Bearer ${person.bearer}` }
    })
    return expectBody<MintedKey>(response, 'apiKey', 'id', 'expires_at')
  } finally {
    const ended = await askProvider(context, person, 'logout', { query: { scope: 'local' } }).catch(() => undefined)
    if (ended === undefined || ended.status >= 300) {
      context.out.warn('la sessione usata per l’accesso non è stata chiusa: si vede fra le sessioni dell’utente')
    }
  }
}

/**
 * Reads a key that a person has created on the server's pages. The server returns the key's id and expiry.
 * @throws CliError when the server rejects it
 */
export async function givenKey (
  context: Context, base: string
): Promise<Pick<MintedKey, 'apiKey' | 'id' | 'expires_at'>> {
  requirePrivate(base)
  const apiKey = await secretOf(context.terminal, 'LOCANDA_KEY', 'Chiave API')
  if (!isKey(apiKey)) throw usageError('Non è una chiave API')
  const response = await context.send(base, '/api/v1/keys', { headers: { 'x-api-key': apiKey } })
  const { data } = expectBody<{ data: ApiKey[] }>(response, 'data')
  const own = data.find(({ id }) => apiKey.startsWith(`lcd_${id}_`))
  if (own === undefined) throw usageError('Non è la chiave API di una persona')
  return { apiKey, id: own.id, expires_at: own.expires_at }
}

async function signInWithPassword (context: Context, provider: Provider, given: string | undefined): Promise<SignIn> {
  const { terminal } = context
  const email = (given ?? await ask(terminal, 'E-mail: ')).trim()
  if (email === '') throw usageError('Manca l’e-mail')
  const password = await secretOf(terminal, 'LOCANDA_PASSWORD', 'Password')
  const request = { query: { grant_type: 'password' }, body: { email, password } }
  return signedIn(provider, await askProvider(context, provider, 'token', request))
}

async function providerOf (context: Context, base: string): Promise<Provider> {
  const response = await context.send(base, '/api/config')
  const { backendUrl, backendKey } = expectBody<Static<typeof ClientConfig>>(response, 'backendUrl', 'backendKey')
  const url = baseUrl(String(backendUrl), 'Il provider di identità indicato dal server')
  requirePrivate(url)
  return { url, apikey: String(backendKey) }
}

function requirePrivate (base: string): void {
  if (isPrivate(base)) return
  throw usageError(`Password e chiavi non vengono inviate in chiaro a ${base}: serve un indirizzo https`)
}
