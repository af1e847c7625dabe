import { isIPv4 } from 'node:net'
import { usageError } from './errors.ts'

export const DEFAULT_URL = 'http://127.0.0.1:3000'

/**
 * A server's base URL in one spelling, without a slash at its end.
 * @param source what gave it, for the error
 * @throws CliError when it is not http or https, or holds more than an address
 */
export function baseUrl (text: string, source: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw usageError(`${source}: deve essere un indirizzo http o https`)
  }
  // Not repeated: it may hold a password.
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw usageError(`${source}: l'indirizzo non deve contenere credenziali, né parti dopo «?» o «#»`)
  }
  return url.origin + url.pathname.replace(/\/+$/, '')
}

/** False where what is sent can be read on the way: http to another machine. */
export function isPrivate (base: string): boolean {
  const { protocol, hostname } = new URL(base)
  // `URL` has already brought every spelling of an IPv4 address to four decimal numbers.
  return (
    protocol === 'https:' ||
    hostname === 'localhost' ||
    hostname === '[::1]' ||
    (isIPv4(hostname) && hostname.startsWith('127.'))
  )
}
