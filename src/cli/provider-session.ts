import { countWithNoun } from '#src/lib/count-with-noun.ts'
import { plainCode } from '#src/lib/typed-code.ts'
import type { Context } from './command-context.ts'
import { CliError, EXIT } from './errors.ts'
import { expectBody, fieldsOf, type ApiResponse, type Request } from './server-call.ts'
import { ask, isInteractive } from './terminal.ts'

/** An identity provider, and a user's sign-in there. */
export interface Provider { url: string, apikey: string }
export interface SignIn extends Provider { bearer: string, user?: unknown }

/** Sends a POST to the provider. With `bearer`, the user's token, it is sent for that user. */
export function askProvider (
  context: Context, { url, apikey, bearer }: Provider & { bearer?: string }, path: string, request: Request
): Promise<ApiResponse> {
  const headers = { apikey, ...bearer && { authorization: `Bearer ${bearer}` } }
  return context.send(url, `/auth/v1/${path}`, { method: 'POST', headers, ...request })
}

/**
 * Reads the sign-in from a response of the provider.
 * @throws CliError for a refusal, and for a response of another service
 */
export function signedIn ({ url, apikey }: Provider, response: ApiResponse): SignIn {
  const { access_token, user } = accepted<{ access_token: string, user?: unknown }>(response, 'access_token')
  return { url, apikey, bearer: String(access_token), user }
}

/** The body of a successful response of the provider. */
function accepted<T extends object> (response: ApiResponse, ...fields: (keyof T & string)[]): T {
  if (response.status >= 400 && response.status < 500) throw refused(response)
  return expectBody<T>(response, ...fields)
}

/** Italian messages for the provider's error codes. */
const REFUSALS: Readonly<Record<string, string>> = {
  invalid_credentials: 'E-mail o password non corrette',
  user_banned: 'Questo utente è sospeso: rivolgersi a un amministratore',
  email_not_confirmed: 'L’indirizzo e-mail non è ancora confermato: aprire il collegamento ricevuto per posta',
  mfa_verification_failed: 'Il codice non è corretto, o è già stato usato: aspettare il prossimo',
  mfa_factor_not_found: 'Il codice non è di sei cifre, e questo utente non ha codici di recupero'
}

/** Reads both error formats: `{code: 400, error_code, msg}`, and `{code: 'text', message}` of later versions. */
function refused ({ status, headers, body }: ApiResponse): CliError {
  const { error_code, code } = fieldsOf(body) ?? {}
  const reason = [error_code, code].find((each) => typeof each === 'string') ?? ''
  const codice = reason === '' ? `STATO_${status}` : reason.toUpperCase()
  if (status === 429) {
    const seconds = Number(headers.get('retry-after'))
    const when = seconds > 0 ? `fra ${countWithNoun(seconds, 'secondo', 'secondi')}` : 'più tardi'
    return new CliError(EXIT.failed, codice, `Troppi tentativi di accesso: riprovare ${when}`)
  }
  return new CliError(EXIT.credentials, codice, REFUSALS[reason] ?? `Accesso rifiutato (${reason || status})`)
}

const APP_CODE = /^\d{6}$/

/**
 * Asks a person with a second factor for an app's code or a recovery code, which the provider verifies.
 * @returns the sign-in after this step
 * @throws CliError
 */
export async function proveSecondFactor (context: Context, person: SignIn): Promise<SignIn> {
  const { terminal } = context
  const apps = verifiedFactors(person, 'totp')
  // A security key (WebAuthn) needs a browser.
  if (apps.length === 0 && verifiedFactors(person, 'recovery_code').length === 0) {
    if (verifiedFactors(person, 'webauthn').length === 0) return person
    throw required(
      'Il secondo fattore di questo utente è una chiave di sicurezza, che qui non si può usare: creare una chiave ' +
        'API sulle pagine del server, e darla a «locanda login --chiave»'
    )
  }
  if (!terminal.env.LOCANDA_CODE && !isInteractive(terminal)) {
    throw required('Questo utente ha un secondo fattore: senza un terminale il codice va indicato con LOCANDA_CODE')
  }
  const question = apps.length > 0 ? 'Codice del secondo fattore, o di recupero: ' : 'Codice di recupero: '
  const code = plainCode(terminal.env.LOCANDA_CODE || await ask(terminal, question))
  if (apps.length === 0 || !APP_CODE.test(code)) {
    return signedIn(person, await askProvider(context, person, 'factors/recovery-codes/verify', { body: { code } }))
  }
  let response: ApiResponse | undefined
  // Tries the code with each app, so that a person with two phones need not choose one.
  for (const id of apps) {
    const challenge = await askProvider(context, person, `factors/${id}/challenge`, { body: {} })
    const { id: challenge_id } = accepted<{ id: string }>(challenge, 'id')
    response = await askProvider(context, person, `factors/${id}/verify`, { body: { challenge_id, code } })
    if (response.status !== 422) break
  }
  return signedIn(person, response!)
}

function required (message: string): CliError {
  return new CliError(EXIT.credentials, 'SECONDO_FATTORE_RICHIESTO', message)
}

/** The ids of the verified factors of a kind. */
function verifiedFactors ({ user }: SignIn, kind: string): string[] {
  const factors = fieldsOf(user)?.factors
  return (Array.isArray(factors) ? factors as unknown[] : []).flatMap((factor) => {
    const { id, status, factor_type: type } = fieldsOf(factor) ?? {}
    return typeof id === 'string' && status === 'verified' && type === kind ? [encodeURIComponent(id)] : []
  })
}
