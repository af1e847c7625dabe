/* The path of `PUBLIC_URL`, which a proxy strips from requests, and its effect on browsers. */

/** The path of `PUBLIC_URL`, without a trailing slash. Empty if the URL has no path. */
export function publicPath (publicUrl: string): string {
  return new URL(publicUrl).pathname.replace(/\/+$/, '')
}

/**
 * Names and attributes of cookies for all paths of this server. Browsers accept a `__Host-` cookie only over https and
 * from the host itself, and send it to all paths. If `PUBLIC_URL` has a path, other applications share the host and
 * must not get the cookies. Then cookies are limited to the path, with the prefix `__Secure-`.
 */
export function ownCookies (publicUrl: string) {
  const path = publicPath(publicUrl)
  const secure = publicUrl.startsWith('https:')
  const start = !secure ? '' : path === '' ? '__Host-' : '__Secure-'
  return {
    nameOf: (name: string) => `${start}locanda_${name}`,
    attributes: { path: path === '' ? '/' : path, httpOnly: true, secure }
  } as const
}
