/* The addresses that a browser may be sent to after a sign-in, as an operator writes them in a list. */

/** Schemes whose addresses are programs, contents or files of the browser's own, and no place of a front end. */
const NO_PLACES = ['javascript:', 'data:', 'blob:', 'file:', 'filesystem:', 'about:', 'vbscript:', 'view-source:']
const WEB = ['http:', 'https:']

/**
 * Whether a text is an address, or a pattern of addresses: an absolute URL of any scheme that is a place, without user
 * name, query and fragment. `*` stands for a part of a host's label or of a step of the path; `**` in the path for any
 * further steps. The last two labels of a host on the web are written out.
 */
export function isRedirectPattern (text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, host, hostname, username, password, search, hash } = new URL(text)
  const isBare = username === '' && password === '' && search === '' && hash === '' && !/[?#\s]/.test(text)
  if (!isBare || NO_PLACES.includes(protocol) || host.includes('**')) return false
  return !WEB.includes(protocol) || !hostname.split('.').slice(-2).join('.').includes('*')
}

/** Whether a pattern of the list stands for an address, whatever the query and the fragment of that. */
export function matchesRedirect (pattern: string, { protocol, host, pathname }: URL): boolean {
  const { protocol: scheme, host: hosts, pathname: paths } = new URL(pattern)
  return protocol === scheme && standsFor(hosts, host) && standsFor(paths || '/', pathname || '/')
}

function standsFor (pattern: string, text: string): boolean {
  const source = pattern.split('**').map((part) => part.split('*').map(literal).join('[^./]*')).join('.*')
  return new RegExp(`^${source}$`, 's').test(text)
}

function literal (text: string): string {
  return text.replace(/[\\^$.+?()[\]{}|]/g, '\\$&')
}
