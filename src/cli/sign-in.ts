import type { Static } from '@sinclair/typebox'
import { MintQuery, type MintedKey } from '#schemas/api-key.ts'
import type { ClientConfig } from '#schemas/operator.ts'
import { signInByBrowser } from './browser-sign-in.ts'
import { baseUrl, isPrivate, type Context } from './command-context.ts'
import { CliError, EXIT, usageError } from './errors.ts'
import { askProvider, signedIn, type Provider, type SignIn } from './provider-session.ts'
import { proveSecondFactor } from './second-factor.ts'
import { expectBody } from './server-call.ts'
import { ask, isInteractive, secretOf } from './terminal.ts'

/** The person who signs in, and how. */
export interface SignInOptions {
  /** Asked for at the terminal when it is missing. */
  email?: string
  /** On the server's pages, in the person's browser. */
  browser?: boolean
}

/**
 * Signs a person in, has a key made in their name and ends the sign-in again, also after a failure.
 * @throws CliError
 */
export async function mintKey (
  context: Context,
  base: string,
  { email, browser = false }: SignInOptions,
  { days, scopes }: { days?: number, scopes?: readonly string[] } = {}
): Promise<MintedKey> {
  requirePrivate(base)
  if (browser && email !== undefined) throw usageError('Con --browser chi accede si indica nel browser: senza --email')
  if (!browser && email === undefined && !isInteractive(context.terminal)) {
    throw usageError("Senza un terminale l'indirizzo va indicato con --email")
  }
  const provider = await providerOf(context, base)
  let person = browser ? await signInByBrowser(context, provider) : await signInHere(context, provider, email)
  try {
    if (!browser) person = await proveSecondFactor(context, person)
    const name = context.terminal.hostname.slice(0, MintQuery.properties.name.maxLength)
    const answer = await context.send(base, '/api/cli/auth/key', {
      query: { name, days, scopes: scopes?.join(',') },
      headers: { authorization: `Bearer ${person.bearer}` }
    })
    return expectBody<MintedKey>(answer, 'apiKey', 'id', 'expires_at')
  } finally {
    const ended = await askProvider(context, person, 'logout', { query: { scope: 'local' } }).catch(() => undefined)
    if (ended === undefined || ended.status >= 300) {
      context.out.warn("la sessione usata per l'accesso non è stata chiusa: si vede fra le sessioni dell'utente")
    }
  }
}

/** With an e-mail and a password. */
async function signInHere (context: Context, provider: Provider, given: string | undefined): Promise<SignIn> {
  const { terminal } = context
  const email = (given ?? await ask(terminal, 'E-mail: ')).trim()
  const { secret: password } = await secretOf(terminal, 'LOCANDA_PASSWORD', 'Password: ')
  if (email === '' || password === '') throw usageError(`Manca ${email === '' ? 'l\'e-mail' : 'la password'}`)
  const request = { query: { grant_type: 'password' }, body: { email, password } }
  return signedIn(provider, await askProvider(context, provider, 'token', request))
}

/** The demands on its address are the same; but a wrong one is the server's fault, and no wrong use. */
async function providerOf (context: Context, base: string): Promise<Provider> {
  const answer = await context.send(base, '/api/config')
  const { backendUrl, backendKey } = expectBody<Static<typeof ClientConfig>>(answer, 'backendUrl', 'backendKey')
  try {
    const url = baseUrl(String(backendUrl), 'Il provider di identità indicato dal server')
    requirePrivate(url)
    return { url, apikey: String(backendKey) }
  } catch (err) {
    throw err instanceof CliError ? new CliError(EXIT.failed, 'PROVIDER_NON_VALIDO', err.message) : err
  }
}

function requirePrivate (base: string): void {
  if (!isPrivate(base)) throw usageError(`La password non viene inviata in chiaro a ${base}: serve un indirizzo https`)
}
