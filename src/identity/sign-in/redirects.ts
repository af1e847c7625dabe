import type { Config } from '#src/config/config.ts'
import type { AuthSession } from '#schemas/auth/session.ts'
import { matchesRedirect } from '#src/lib/redirect-patterns.ts'

/* The URLs to which a browser is redirected, in the form that clients of Supabase Auth read. */

/** Text that parsers read in different ways: `\`, `//`, `.` and `..` as path segments, control characters. */
const AMBIGUOUS = /\\|\/\/|(^|\/)\.{1,2}(\/|;|$)|\p{Cc}/u
/** Maximum levels of percent-encoding of a path. A path with more levels is rejected. */
const MAX_DECODINGS = 4

/**
 * Returns an allowed URL for a redirect: a URL of this service, of a front end (`CORS_ORIGINS`), or in `REDIRECT_URLS`.
 * Its path must have the same meaning for every parser. Replaces any other URL with the first front end's. Returns the
 * URL in its parsed form, because browsers may parse the original text in another way.
 */
export function allowedRedirect (
  { PUBLIC_URL, CORS_ORIGINS, REDIRECT_URLS }: Pick<Config, 'PUBLIC_URL' | 'CORS_ORIGINS' | 'REDIRECT_URLS'>,
  asked: string | undefined
): string {
  const home = CORS_ORIGINS[0] ?? PUBLIC_URL
  if (!asked || !URL.canParse(asked)) return home
  const url = new URL(asked)
  const { protocol, origin, username, password, href } = url
  // A user name before the host misleads a reader.
  if (username !== '' || password !== '') return home
  const path = decodedPath(url.pathname)
  if (path === undefined) return home
  const isListed = REDIRECT_URLS.some((pattern) => matchesRedirect(pattern, url))
  // A `blob:` URL has the origin of the page inside it. An app's own scheme must be in the list.
  if (!['http:', 'https:'].includes(protocol)) return isListed ? href : home
  const own = new URL(PUBLIC_URL)
  const isOwnOrigin = origin === own.origin
  const isService = isOwnOrigin && `${path}/`.startsWith(own.pathname.replace(/\/*$/, '/'))
  // Exclude the provider's endpoints: they redirect to other sites, and a browser would forward the fragment. Some
  // servers ignore spaces in a path segment, or the text after a semicolon.
  const isProvider = isOwnOrigin && /\/auth\s*(;[^/]*)?\/v1\s*([;/]|$)/i.test(path)
  return (isService || isListed || CORS_ORIGINS.includes(origin)) && !isProvider ? href : home
}

/** A path after all decoding, because some servers decode more than once. Undefined when parsers may disagree. */
function decodedPath (path: string): string | undefined {
  try {
    for (let times = 0; times <= MAX_DECODINGS && !AMBIGUOUS.test(path); times++) {
      const next = decodeURIComponent(path)
      if (next === path) return path
      path = next
    }
  } catch {
    // The percent-encoding is invalid.
  }
  return undefined
}

export const PKCE_REQUIRED = 'PKCE flow is required to redirect to an app'

/**
 * Other apps of a device may register the same scheme, and would get the tokens in the fragment. So an app with its own
 * scheme must exchange a code, with PKCE.
 */
export function requiresPkce (redirectTo: string): boolean {
  return !/^https?:/i.test(redirectTo)
}

/** Adds a code that the client exchanges. @param redirectTo from `allowedRedirect`, as in the other functions */
export function redirectWithCode (redirectTo: string, code: string): string {
  const url = new URL(redirectTo)
  url.searchParams.set('code', code)
  return url.href
}

/** Adds a session to the fragment, which browsers send to no server, then the further fields. */
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

/** Adds a message for the person to the fragment, and with PKCE also to the query. */
export function redirectWithMessage (redirectTo: string, message: string, isPkce: boolean): string {
  const url = new URL(redirectTo)
  if (isPkce) url.searchParams.set('message', message)
  return withFragment(url.href, { message })
}

/** Adds an error to the query, and again to the fragment, where older clients read it. */
export function redirectWithError (
  redirectTo: string, { error, code, message }: { error: string, code: string | undefined, message: string }
): string {
  const fields = { error, ...(code === undefined ? {} : { error_code: code }), error_description: message }
  const url = new URL(redirectTo)
  for (const [name, value] of Object.entries(fields)) url.searchParams.set(name, value)
  return withFragment(url.href, fields)
}

/** The official client reads the fields only with `sb`, because a front end may have other fields in the fragment. */
function withFragment (address: string, fields: Record<string, string>): string {
  const url = new URL(address)
  url.hash = new URLSearchParams({ ...fields, sb: '' }).toString()
  return url.href
}
