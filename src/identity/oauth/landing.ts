import type { AuthSession } from '#schemas/auth/session.ts'
import type { OAuthProblem } from './problems.ts'
import type { ProviderTokens } from './provider-tokens.ts'

/* Where a browser ends up, as the clients of Supabase Auth read it. `redirectTo` has been checked by `safeRedirect`. */

/** With a code that the client exchanges. */
export function landWithCode (redirectTo: string, code: string): string {
  const url = new URL(redirectTo)
  url.searchParams.set('code', code)
  return url.href
}

/** With the tokens in the fragment, which browsers send to no server. */
export function landWithTokens (redirectTo: string, session: AuthSession, tokens: ProviderTokens): string {
  const { access_token, token_type, expires_in, expires_at, refresh_token } = session
  const url = new URL(redirectTo)
  url.hash = new URLSearchParams({
    access_token,
    token_type,
    expires_in: String(expires_in),
    expires_at: String(expires_at),
    refresh_token,
    ...tokens,
    sb: ''
  }).toString()
  return url.href
}

/** With what went wrong, in the query and once more in the fragment: older clients look there. */
export function landWithProblem (redirectTo: string, { error, code, message }: OAuthProblem): string {
  const url = new URL(redirectTo)
  const problem = { error, ...(code === undefined ? {} : { error_code: code }), error_description: message }
  for (const [name, value] of Object.entries(problem)) url.searchParams.set(name, value)
  url.hash = new URLSearchParams(problem).toString()
  return url.href
}
