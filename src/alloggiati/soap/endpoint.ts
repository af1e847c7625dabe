import { isIPv4 } from 'node:net'

/** An address to which guests' data and credentials must not be sent. The address is not repeated: it may hold a password. */
export class EndpointError extends Error {
  constructor () {
    super('L\'indirizzo del servizio deve essere https, o http su un indirizzo di loopback, senza credenziali')
    this.name = 'EndpointError'
  }
}

/**
 * The parsed address of the service: https anywhere, http on loopback only.
 * @throws EndpointError for anything else
 */
export function assertAllowedEndpoint (url: string | URL): URL {
  if (!URL.canParse(String(url))) throw new EndpointError()
  const endpoint = new URL(url)
  const { protocol, hostname, username, password } = endpoint
  const allowed = protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))
  if (!allowed || username !== '' || password !== '') throw new EndpointError()
  return endpoint
}

/** `URL` has already brought every spelling of an IPv4 address to four decimal numbers. */
function isLoopback (hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'))
}
