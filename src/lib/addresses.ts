import { isIPv4 } from 'node:net'

/**
 * An address to which guests' data and credentials must not be sent. The address is not repeated: it may hold a
 * password.
 */
export class UnsafeAddress extends Error {
  constructor () {
    super('L\'indirizzo del servizio deve essere https, o http su un indirizzo di loopback, senza credenziali')
    this.name = 'UnsafeAddress'
  }
}

/**
 * The parsed address of a service that may be asked: https anywhere, http on loopback only, and no credentials in it.
 * @throws UnsafeAddress for anything else
 */
export function safeAddress (address: string | URL): URL {
  if (!isSafeAddress(String(address))) throw new UnsafeAddress()
  return new URL(address)
}

export function isSafeAddress (address: string): boolean {
  if (!URL.canParse(address)) return false
  const { protocol, hostname, username, password } = new URL(address)
  return (
    username === '' && password === '' && (protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(hostname)))
  )
}

/** Of a host as `URL` gives it: every spelling of an IPv4 address is four decimal numbers there. */
export function isLoopbackHost (hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'))
}
