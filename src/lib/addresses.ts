import { isIPv4, isIPv6 } from 'node:net'

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

/** Whether an address is plain http, which a safe address may be on loopback only. */
export function isPlainHttp (address: string): boolean {
  return new URL(address).protocol === 'http:'
}

/** Of a host as `URL` gives it: every spelling of an IPv4 address is four decimal numbers there. */
export function isLoopbackHost (hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'))
}

/** An IPv6 customer holds a /64: counting single addresses would count nothing. */
export function network (ip: string): string {
  if (!isIPv6(ip) || ip.startsWith('::ffff:')) return ip
  const [left = [], right] = ip.split('::').map((half) => half === '' ? [] : half.split(':'))
  const zeros = right === undefined ? [] : Array.from({ length: 8 - left.length - right.length }, () => '0')
  return [...left, ...zeros, ...(right ?? [])].slice(0, 4).join(':')
}
