/* What the path of `PUBLIC_URL` means to browsers. Where it has one, a proxy takes it off before requests come here. */

/** That path, without a slash at its end; empty where there is none. */
export function publicPath (publicUrl: string): string {
  return new URL(publicUrl).pathname.replace(/\/+$/, '')
}

/**
 * Names and attributes of cookies that all paths of this server get. Browsers let no other host of the domain set one
 * whose name begins with `__Host-`, and take it over a secure connection alone; but it is for all paths of the host.
 * Where this server has a path only, other applications stand beside it, which must not get its cookies: they are for
 * the path then, with a name that wants the secure connection alone.
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
