/* The path of `PUBLIC_URL`, which a proxy strips from requests, and its effect on browsers. */

/** The path without a trailing slash. Empty if there is none. */
export function publicPath (publicUrl: string): string {
  return new URL(publicUrl).pathname.replace(/\/+$/, '')
}

/**
 * Names and attributes of cookies for all paths of this server. Browsers accept a `__Host-` cookie only over https and
 * from the host itself, and send it to all paths. If the server has only a path, other applications share the host and
 * must not get its cookies. Then cookies are limited to the path, with the prefix `__Secure-`.
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
