import { isObject } from './answers.ts'
import { CliError, EXIT } from './errors.ts'
import type { Answer } from './exchange.ts'

/** The provider's codes, in the words of this program. */
const REFUSALS: Readonly<Record<string, string>> = {
  invalid_credentials: 'E-mail o password non corrette',
  user_banned: 'Questo utente è sospeso: rivolgersi a un amministratore',
  email_not_confirmed: 'L\'indirizzo e-mail non è ancora confermato: aprire il collegamento ricevuto per posta',
  mfa_verification_failed: 'Il codice non è corretto, o è già stato usato: aspettare il prossimo',
  mfa_factor_not_found: 'Il codice non è di sei cifre, e questo utente non ha codici di recupero'
}
const TOO_MANY = 429

/**
 * What a provider meant by refusing a sign-in. Both spellings of the protocol: `{code: 400, error_code, msg}`, and
 * `{code: 'text', message}` of later versions.
 */
export function refused ({ status, headers, body }: Answer): CliError {
  const { error_code, code } = (isObject(body) ? body : {}) as { error_code?: unknown, code?: unknown }
  const reason = [error_code, code].find((each) => typeof each === 'string') ?? ''
  const codice = reason === '' ? `STATO_${status}` : reason.toUpperCase()
  if (status === TOO_MANY) {
    const seconds = Number(headers.get('retry-after'))
    return new CliError(
      EXIT.failed,
      codice,
      `Troppi tentativi di accesso: riprovare ${seconds > 0 ? `fra ${seconds} secondi` : 'più tardi'}`
    )
  }
  return new CliError(EXIT.credentials, codice, REFUSALS[reason] ?? `Accesso rifiutato (${reason || status})`)
}
