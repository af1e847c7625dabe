import type { Static } from '@sinclair/typebox'
import { MintQuery, type MintedKey } from '#schemas/api-key.ts'
import type { ClientConfig } from '#schemas/operator.ts'
import { baseUrl, isPrivate } from './address.ts'
import { expectBody } from './answers.ts'
import { signInByBrowser } from './browser.ts'
import type { Context } from './context.ts'
import { CliError, EXIT, usageError } from './errors.ts'
import { refused } from './provider-refusal.ts'
import { proveSecondFactor, type SignIn } from './second-factor.ts'
import { ask, firstLine } from './terminal.ts'

export interface KeyWishes { days?: number, scopes?: readonly string[] }

/** Who signs in, and how. */
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
  { days, scopes }: KeyWishes = {}
): Promise<MintedKey> {
  requirePrivate(base)
  if (browser && email !== undefined) throw usageError('Con --browser chi accede si indica nel browser: senza --email')
  if (!browser && email === undefined && !isInteractive(context)) {
    throw usageError("Senza un terminale l'indirizzo va indicato con --email")
  }
  const settings = expectBody<Static<typeof ClientConfig>>(
    await context.send(base, '/api/config'),
    'backendUrl',
    'backendKey'
  )
  const provider = providerAddress(settings.backendUrl)
  const apikey = String(settings.backendKey)

  const signedIn = browser
    ? await signInByBrowser(context, provider, apikey)
    : await signIn(context, provider, apikey, await credentials(context, email))
  let authorization = `Bearer ${signedIn.bearer}`
  try {
    if (!browser) authorization = `Bearer ${await proveSecondFactor(context, signedIn)}`
    const query = {
      name: context.terminal.hostname.slice(0, MintQuery.properties.name.maxLength),
      days,
      scopes: scopes?.join(',')
    }
    return expectBody<MintedKey>(
      await context.send(base, '/api/cli/auth/key', { query, headers: { authorization } }),
      'apiKey',
      'id',
      'expires_at'
    )
  } finally {
    const ended = await context
      .send(provider, '/auth/v1/logout', {
        method: 'POST',
        query: { scope: 'local' },
        headers: { apikey, authorization }
      })
      .catch(() => undefined)
    if (ended === undefined || ended.status >= 300) {
      context.out.warn("la sessione usata per l'accesso non è stata chiusa: si vede fra le sessioni dell'utente")
    }
  }
}

async function signIn (
  context: Context,
  provider: string,
  apikey: string,
  body: { email: string; password: string }
): Promise<SignIn> {
  const answer = await context.send(provider, '/auth/v1/token', {
    method: 'POST',
    query: { grant_type: 'password' },
    headers: { apikey },
    body
  })
  if (answer.status >= 400 && answer.status < 500) throw refused(answer)
  const { access_token, user } = expectBody<{ access_token: string, user?: unknown }>(answer, 'access_token')
  return { provider, apikey, bearer: String(access_token), user }
}

/** The e-mail and the password: from the environment, from the terminal, or from the first line of standard input. */
async function credentials (context: Context, given: string | undefined): Promise<{ email: string, password: string }> {
  const { terminal } = context
  const email = (given ?? await ask(terminal, 'E-mail: ')).trim()
  const password =
    terminal.env.LOCANDA_PASSWORD ||
    (await (isInteractive(context) ? ask(terminal, 'Password: ', true) : firstLine(terminal)))
  if (email === '' || password === '') throw usageError(`Manca ${email === '' ? 'l\'e-mail' : 'la password'}`)
  return { email, password }
}

function isInteractive ({ terminal: { stdin } }: Context): boolean {
  return stdin.isTTY === true
}

/** The same demands on an address that a server has named; but that is its fault, and no wrong use. */
function providerAddress (given: string): string {
  try {
    const provider = baseUrl(String(given), 'Il provider di identità indicato dal server')
    requirePrivate(provider)
    return provider
  } catch (err) {
    throw err instanceof CliError ? new CliError(EXIT.failed, 'PROVIDER_NON_VALIDO', err.message) : err
  }
}

function requirePrivate (base: string): void {
  if (!isPrivate(base)) throw usageError(`La password non viene inviata in chiaro a ${base}: serve un indirizzo https`)
}
