import { AuthorizationResponseError, ResponseBodyError } from 'openid-client'
import { AuthError } from '../errors.ts'
import { Unreachable } from './contact.ts'

/** Why a way through a provider has led nowhere, as the front end is told in the redirect. */
export class OAuthProblem extends Error {
  /** The kind, in the words of OAuth 2 (RFC 6749, section 4.1.2.1). */
  readonly error: string
  /** The code of Supabase Auth; a provider's own refusal has none. */
  readonly code: string | undefined
  /** For the log, when it is the provider's fault: never what the provider said. */
  readonly reason: string | undefined
  constructor (error: string, code: string | undefined, description: string, reason?: string) {
    super(description)
    this.name = 'OAuthProblem'
    this.error = error
    this.code = code
    this.reason = reason
  }
}

/** As Supabase Auth has it: by status, and these by code. */
const BY_STATUS: Readonly<Record<number, string>> = {
  400: 'invalid_request',
  401: 'unauthorized_client',
  403: 'access_denied',
  503: 'temporarily_unavailable'
}
const DENIALS = ['signup_disabled', 'user_banned']

/** An error of ours in the words of a redirect. */
export function problemOf (err: unknown): OAuthProblem {
  if (err instanceof OAuthProblem) return err
  const { code, statusCode, message } = err instanceof AuthError ? err : new AuthError('unexpected_failure')
  return new OAuthProblem(
    DENIALS.includes(code) ? 'access_denied' : (BY_STATUS[statusCode] ?? 'server_error'),
    code,
    message
  )
}

/** The address is not proven: whose account it would be is not asked, so that nobody learns which ones exist. */
export function unverifiedEmail (provider: string): OAuthProblem {
  const description = `Unverified email with ${provider}. Verify the email with ${provider} in order to sign in`
  return new OAuthProblem('access_denied', 'provider_email_needs_verification', description)
}

export function noEmail (): OAuthProblem {
  return new OAuthProblem('server_error', 'unexpected_failure', 'Error getting user email from external provider')
}

/**
 * What the provider, or the library that reads its answers, has against a sign-in. Their words may be about the person:
 * only codes are kept.
 */
export function providerProblem (err: unknown): OAuthProblem {
  if (err instanceof OAuthProblem) return err
  const unreachable = causeOf(err)
  if (unreachable) {
    return new OAuthProblem(
      'temporarily_unavailable',
      'unexpected_failure',
      'The external provider cannot be reached',
      unreachable.reason
    )
  }
  // Its own refusal is passed on: mostly that the person has thought better of it.
  if (err instanceof AuthorizationResponseError) {
    return new OAuthProblem(err.error, undefined, err.error_description ?? '', 'refused')
  }
  if (err instanceof ResponseBodyError) return unusable(`error ${/^[a-z_]{1,40}$/.exec(err.error)?.[0] ?? '?'}`)
  const { name, code }: { name: string, code?: unknown } = err instanceof Error ? err : new Error()
  return unusable(String(code ?? name))
}

/** The provider's answer is none that somebody could be let in with. */
export function unusable (reason: string): OAuthProblem {
  return new OAuthProblem('server_error', 'unexpected_failure', 'Unable to exchange external code', reason)
}

function causeOf (err: unknown): Unreachable | undefined {
  for (let inner = err; inner instanceof Error; inner = inner.cause) {
    if (inner instanceof Unreachable) return inner
  }
  return undefined
}
