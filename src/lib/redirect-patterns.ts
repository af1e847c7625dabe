/* URLs and patterns to which a sign-in may redirect, as an operator lists them. */

/** Schemes that run code or refer to local content, and so cannot be a front end. */
const FORBIDDEN_SCHEMES = [
  'javascript:', 'data:', 'blob:', 'file:', 'filesystem:', 'about:', 'vbscript:', 'view-source:'
]
const WEB = ['http:', 'https:']

/**
 * Whether a text is a redirect URL or pattern: an absolute URL without credentials, query and fragment. `*` matches
 * any text without a dot or slash, `**` any text. With http or https, the last two labels of a
 * host must not contain `*`.
 */
export function isRedirectPattern (text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, host, hostname, username, password, search, hash } = new URL(text)
  const isBare = username === '' && password === '' && search === '' && hash === '' && !/[?#\s]/.test(text)
  if (!isBare || FORBIDDEN_SCHEMES.includes(protocol) || host.includes('**')) return false
  return !WEB.includes(protocol) || !hostname.split('.').slice(-2).join('.').includes('*')
}

/** Whether a pattern matches a URL. Query and fragment of the URL are ignored. */
export function matchesRedirect (pattern: string, { protocol, host, pathname }: URL): boolean {
  const { protocol: scheme, host: hosts, pathname: paths } = new URL(pattern)
  return protocol === scheme && matchesPart(hosts, host) && matchesPart(paths || '/', pathname || '/')
}

function matchesPart (pattern: string, text: string): boolean {
  const source = pattern.split('**').map((part) => part.split('*').map(literal).join('[^./]*')).join('.*')
  return new RegExp(`^${source}$`, 's').test(text)
}

function literal (text: string): string {
  return text.replace(/[\\^$.+?()[\]{}|]/g, '\\$&')
}
