import { plainCode } from '#src/lib/typed-code.ts'
import { expectBody, isObject } from './answers.ts'
import type { Context } from './context.ts'
import { CliError, EXIT } from './errors.ts'
import type { Answer } from './exchange.ts'
import { refused } from './provider-refusal.ts'
import { ask } from './terminal.ts'

/** A sign-in at a provider that has taken the password. */
export interface SignIn { provider: string, apikey: string, bearer: string, user: unknown }

const APP_CODE = /^\d{6}$/

/**
 * Proves the second factor of a person who has one: with a code of an app, or a recovery code.
 * @returns the token to go on with
 * @throws CliError
 */
export async function proveSecondFactor (context: Context, signedIn: SignIn): Promise<string> {
  const { terminal } = context
  const apps = verifiedFactors(signedIn.user, 'totp')
  // A device (WebAuthn) cannot be asked here. Who has a device and no app uses a recovery code, or the browser.
  const hasCodes = verifiedFactors(signedIn.user, 'recovery_code').length > 0
  if (apps.length === 0 && !hasCodes) {
    if (verifiedFactors(signedIn.user, 'webauthn').length === 0) return signedIn.bearer
    throw new CliError(
      EXIT.credentials,
      'SECONDO_FATTORE_RICHIESTO',
      'Il secondo fattore di questo utente è una chiave di sicurezza, che qui non si può usare: accedere con --browser'
    )
  }
  if (!terminal.env.LOCANDA_CODE && terminal.stdin.isTTY !== true) {
    throw new CliError(
      EXIT.credentials,
      'SECONDO_FATTORE_RICHIESTO',
      'Questo utente ha un secondo fattore: senza un terminale il codice va indicato con LOCANDA_CODE'
    )
  }
  const question = apps.length > 0 ? 'Codice del secondo fattore, o di recupero: ' : 'Codice di recupero: '
  const code = plainCode(terminal.env.LOCANDA_CODE || await ask(terminal, question))
  if (apps.length === 0 || !APP_CODE.test(code)) {
    return tokenOf(await post(context, signedIn, 'recovery-codes/verify', { code }))
  }
  let answer: Answer | undefined
  // A person with two telephones need not say whose code it is.
  for (const id of apps) {
    const challenge = await post(context, signedIn, `${id}/challenge`, {})
    if (challenge.status >= 400) throw refused(challenge)
    const { id: challenge_id } = expectBody<{ id: string }>(challenge, 'id')
    answer = await post(context, signedIn, `${id}/verify`, { challenge_id, code })
    if (answer.status !== 422) break
  }
  return tokenOf(answer!)
}

function tokenOf (answer: Answer): string {
  if (answer.status >= 400 && answer.status < 500) throw refused(answer)
  return String(expectBody<{ access_token: string }>(answer, 'access_token').access_token)
}

async function post (
  context: Context,
  { provider, apikey, bearer }: SignIn,
  path: string,
  body: object
): Promise<Answer> {
  return await context.send(provider, `/auth/v1/factors/${path}`, {
    method: 'POST',
    headers: { apikey, authorization: `Bearer ${bearer}` },
    body
  })
}

function verifiedFactors (user: unknown, type: string): string[] {
  const factors: unknown = isObject(user) && 'factors' in user ? user.factors : []
  return (Array.isArray(factors) ? factors as unknown[] : []).flatMap((factor) => (
    isObject(factor) && 'status' in factor && factor.status === 'verified' &&
    'factor_type' in factor && factor.factor_type === type && 'id' in factor
      ? [encodeURIComponent(String(factor.id))]
      : []
  ))
}
