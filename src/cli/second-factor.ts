import { plainCode } from '#src/lib/typed-code.ts'
import type { Context } from './command-context.ts'
import { CliError, EXIT } from './errors.ts'
import { accepted, askProvider, signedIn, type SignIn } from './provider-session.ts'
import { fieldsOf, type Answer } from './server-call.ts'
import { ask, isInteractive } from './terminal.ts'

const APP_CODE = /^\d{6}$/

/**
 * Proves the second factor of a person who has one: with a code of an app, or a recovery code.
 * @returns the sign-in to go on with
 * @throws CliError
 */
export async function proveSecondFactor (context: Context, person: SignIn): Promise<SignIn> {
  const { terminal } = context
  const apps = verifiedFactors(person, 'totp')
  // A device (WebAuthn) cannot be asked here. Who has a device and no app uses a recovery code, or the browser.
  if (apps.length === 0 && verifiedFactors(person, 'recovery_code').length === 0) {
    if (verifiedFactors(person, 'webauthn').length === 0) return person
    throw required(
      'Il secondo fattore di questo utente è una chiave di sicurezza, che qui non si può usare: accedere con --browser'
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
  let answer: Answer | undefined
  // A person with two telephones need not say whose code it is.
  for (const id of apps) {
    const challenge = await askProvider(context, person, `factors/${id}/challenge`, { body: {} })
    const { id: challenge_id } = accepted<{ id: string }>(challenge, 'id')
    answer = await askProvider(context, person, `factors/${id}/verify`, { body: { challenge_id, code } })
    if (answer.status !== 422) break
  }
  return signedIn(person, answer!)
}

function required (message: string): CliError {
  return new CliError(EXIT.credentials, 'SECONDO_FATTORE_RICHIESTO', message)
}

/** The ids of the factors of a kind. */
function verifiedFactors ({ user }: SignIn, kind: string): string[] {
  const factors = fieldsOf(user)?.factors
  return (Array.isArray(factors) ? factors as unknown[] : []).flatMap((factor) => {
    const { id, status, factor_type: type } = fieldsOf(factor) ?? {}
    return typeof id === 'string' && status === 'verified' && type === kind ? [encodeURIComponent(id)] : []
  })
}
