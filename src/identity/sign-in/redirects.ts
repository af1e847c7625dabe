import type { Config } from '#src/config/config.ts'
import type { AuthSession } from '#schemas/auth/session.ts'
import { matchesRedirect } from '#src/lib/redirect-patterns.ts'

/* The addresses that a browser is sent to, as the clients of Supabase Auth read them. */

/** What browsers, proxies and servers read in several ways: `\`, `//`, `.` and `..` as steps, control characters. */
const AMBIGUOUS = /\\|\/\/|(^|\/)\.{1,2}(\/|;|$)|\p{Cc}/u
/** A path that was encoded more often is refused. */
const MOST_DECODINGS = 4

/**
 * The address that a browser may be sent to: one of this service, of a front end in the settings, or of the list of
 * addresses there, whose path means the same to every reader. Any other address is replaced by the front end's. The
 * result is the address as it was parsed, not as it was written: browsers may parse the text in another way.
 */
export function allowedRedirect (
  { PUBLIC_URL, CORS_ORIGINS, REDIRECT_URLS }: Pick<Config, 'PUBLIC_URL' | 'CORS_ORIGINS' | 'REDIRECT_URLS'>,
  asked: string | undefined
): string {
  const home = CORS_ORIGINS[0] ?? PUBLIC_URL
  if (!asked || !URL.canParse(asked)) return home
  const url = new URL(asked)
  const { protocol, origin, username, password, href } = url
  // A user name in front of the host deceives a reader.
  if (username !== '' || password !== '') return home
  const path = decodedPath(url.pathname)
  if (path === undefined) return home
  const isListed = REDIRECT_URLS.some((pattern) => matchesRedirect(pattern, url))
  // A `blob:` URL has the origin of the page inside it; an application's address is good only where the list has it.
  if (!['http:', 'https:'].includes(protocol)) return isListed ? href : home
  const own = new URL(PUBLIC_URL)
  const isOwnOrigin = origin === own.origin
  const isService = isOwnOrigin && `${path}/`.startsWith(own.pathname.replace(/\/*$/, '/'))
  // The provider's own endpoints redirect to other sites, and a browser would take the fragment along. Some servers
  // read a step of a path without what follows a semicolon, or without spaces.
  const isProvider = isOwnOrigin && /\/auth\s*(;[^/]*)?\/v1\s*([;/]|$)/i.test(path)
  return (isService || isListed || CORS_ORIGINS.includes(origin)) && !isProvider ? href : home
}

/** A path as a reader has it in the end, who may decode it more than once; undefined when readers may differ. */
function decodedPath (path: string): string | undefined {
  try {
    for (let times = 0; times <= MOST_DECODINGS && !AMBIGUOUS.test(path); times++) {
      const next = decodeURIComponent(path)
      if (next === path) return path
      path = next
    }
  } catch {
    // Not the encoding of a text.
  }
  return undefined
}

/** With a code that the client exchanges. @param redirectTo from `allowedRedirect`, as in the other functions */
export function redirectWithCode (redirectTo: string, code: string): string {
  const url = new URL(redirectTo)
  url.searchParams.set('code', code)
  return url.href
}

/** With a session in the fragment, which browsers send to no server, and further fields after it. */
export function redirectWithSession (
  redirectTo: string,
  { access_token, token_type, expires_in, expires_at, refresh_token }: AuthSession,
  further: Record<string, string>
): string {
  return withFragment(redirectTo, {
    access_token,
    token_type,
    expires_in: String(expires_in),
    expires_at: String(expires_at),
    refresh_token,
    ...further
  })
}

/** With a message for the person in the fragment; clients with PKCE read the query. */
export function redirectWithMessage (redirectTo: string, message: string, isPkce: boolean): string {
  const url = new URL(redirectTo)
  if (isPkce) url.searchParams.set('message', message)
  return withFragment(url.href, { message })
}

/** With an error in the query, and again in the fragment, where older clients read it. */
export function redirectWithError (
  redirectTo: string, { error, code, message }: { error: string, code: string | undefined, message: string }
): string {
  const fields = { error, ...(code === undefined ? {} : { error_code: code }), error_description: message }
  const url = new URL(redirectTo)
  for (const [name, value] of Object.entries(fields)) url.searchParams.set(name, value)
  return withFragment(url.href, fields)
}

/** `sb` tells the official client that the fields are meant for it, and not for another part of the front end. */
function withFragment (address: string, fields: Record<string, string>): string {
  const url = new URL(address)
  url.hash = new URLSearchParams({ ...fields, sb: '' }).toString()
  return url.href
}
