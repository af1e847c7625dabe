import type { Context } from './command-context.ts'
import { CliError, EXIT } from './errors.ts'
import { expectBody, fieldsOf, type Answer, type Request } from './server-call.ts'

/** An identity provider, and the sign-in of a person there. */
export interface Provider { url: string, apikey: string }
export interface SignIn extends Provider { bearer: string, user?: unknown }

/** A POST to the provider, in the name of the person where there is a sign-in. */
export function askProvider (
  context: Context, { url, apikey, bearer }: Provider & { bearer?: string }, path: string, request: Request
): Promise<Answer> {
  const headers = { apikey, ...bearer && { authorization: `Bearer ${bearer}` } }
  return context.send(url, `/auth/v1/${path}`, { method: 'POST', headers, ...request })
}

/**
 * The sign-in that an answer of the provider brings.
 * @throws CliError for a refusal
 */
export function signedIn ({ url, apikey }: Provider, answer: Answer): SignIn {
  const { access_token, user } = accepted<{ access_token: string, user?: unknown }>(answer, 'access_token')
  return { url, apikey, bearer: String(access_token), user }
}

/** The body of a good answer of the provider. */
export function accepted<T extends object> (answer: Answer, ...fields: (keyof T & string)[]): T {
  if (answer.status >= 400 && answer.status < 500) throw refused(answer)
  return expectBody<T>(answer, ...fields)
}

/** The provider's codes, in the words of this program. */
const REFUSALS: Readonly<Record<string, string>> = {
  invalid_credentials: 'E-mail o password non corrette',
  user_banned: 'Questo utente è sospeso: rivolgersi a un amministratore',
  email_not_confirmed: 'L\'indirizzo e-mail non è ancora confermato: aprire il collegamento ricevuto per posta',
  mfa_verification_failed: 'Il codice non è corretto, o è già stato usato: aspettare il prossimo',
  mfa_factor_not_found: 'Il codice non è di sei cifre, e questo utente non ha codici di recupero'
}

/** Both spellings of the protocol: `{code: 400, error_code, msg}`, and `{code: 'text', message}` of later versions. */
function refused ({ status, headers, body }: Answer): CliError {
  const { error_code, code } = fieldsOf(body) ?? {}
  const reason = [error_code, code].find((each) => typeof each === 'string') ?? ''
  const codice = reason === '' ? `STATO_${status}` : reason.toUpperCase()
  if (status === 429) {
    const seconds = Number(headers.get('retry-after'))
    const when = seconds > 0 ? `fra ${seconds} secondi` : 'più tardi'
    return new CliError(EXIT.failed, codice, `Troppi tentativi di accesso: riprovare ${when}`)
  }
  return new CliError(EXIT.credentials, codice, REFUSALS[reason] ?? `Accesso rifiutato (${reason || status})`)
}
