import { AuthorizationResponseError, ResponseBodyError } from 'openid-client'
import { AuthError } from '../errors.ts'
import { ProviderUnreachable } from './fetch-from-provider.ts'

/** The reason why a sign-in through a provider failed. The redirect passes it to the front end. */
export class OAuthError extends Error {
  readonly error: string
  /** The error code of Supabase Auth. Undefined for a refusal by the provider. */
  readonly code: string | undefined
  /** The reason for the log, when the provider failed or refused. Its only text from the provider is an error code. */
  readonly reason: string | undefined
  constructor (error: string, code: string | undefined, description: string, reason?: string) {
    super(description)
    this.name = 'OAuthError'
    this.error = error
    this.code = code
    this.reason = reason
  }
}

/** The OAuth error codes by status, as in Supabase Auth. The errors in `DENIALS` are always `access_denied`. */
const BY_STATUS: Readonly<Record<number, string>> = {
  400: 'invalid_request', 401: 'unauthorized_client', 403: 'access_denied', 503: 'temporarily_unavailable'
}
const DENIALS = ['signup_disabled', 'user_banned']

export function toOAuthError (err: unknown): OAuthError {
  if (err instanceof OAuthError) return err
  const { code, statusCode, message } = err instanceof AuthError ? err : new AuthError('unexpected_failure')
  return new OAuthError(
    DENIALS.includes(code) ? 'access_denied' : (BY_STATUS[statusCode] ?? 'server_error'), code, message
  )
}

/** The address is not verified. No account is looked up, because the response must not reveal whether one exists. */
export function unverifiedEmail (provider: string): OAuthError {
  const description = `Unverified email with ${provider}. Verify the email with ${provider} in order to sign in`
  return new OAuthError('access_denied', 'provider_email_needs_verification', description)
}

export function missingEmail (): OAuthError {
  return new OAuthError('server_error', 'unexpected_failure', 'Error getting user email from external provider')
}

/**
 * An error of the provider, or of the library that parses its responses. Their texts may contain personal data, so the
 * log gets only codes and names of errors.
 */
export function providerError (err: unknown): OAuthError {
  if (err instanceof OAuthError) return err
  const unreachable = findUnreachable(err)
  if (unreachable) {
    return new OAuthError(
      'temporarily_unavailable', 'unexpected_failure', 'The external provider cannot be reached', unreachable.reason
    )
  }
  // The front end gets a refusal by the provider with its text. Usually the person cancelled.
  if (err instanceof AuthorizationResponseError) {
    return new OAuthError(err.error, undefined, err.error_description ?? '', 'refused')
  }
  if (err instanceof ResponseBodyError) return unusableResponse(`error ${/^[a-z_]{1,40}$/.exec(err.error)?.[0] ?? '?'}`)
  const { name, code }: { name: string, code?: unknown } = err instanceof Error ? err : new Error()
  return unusableResponse(String(code ?? name))
}

export function unusableResponse (reason: string): OAuthError {
  return new OAuthError('server_error', 'unexpected_failure', 'Unable to exchange external code', reason)
}

function findUnreachable (err: unknown): ProviderUnreachable | undefined {
  for (let inner = err; inner instanceof Error; inner = inner.cause) {
    if (inner instanceof ProviderUnreachable) return inner
  }
  return undefined
}
