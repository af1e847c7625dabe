import { BlockList, isIPv4, isIPv6, SocketAddress } from 'node:net'

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

/** Where a connection to the server of an address goes; http and https have ports of their own. */
export function serverOf (address: string | URL): { host: string, port: number } {
  const { protocol, hostname, port } = new URL(address)
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port) || (protocol === 'http:' ? 80 : 443) }
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

/**
 * The one spelling of an IP address, in which callers are counted and written down: IPv6 as RFC 5952 says, IPv4 in IPv6
 * as IPv4, without port, brackets and zone, which proxies add. Undefined for what is no address.
 */
export function canonicalAddress (text: string): string | undefined {
  if (isIPv4(text)) return text
  const bare = text.trim().replace(/^\[(.*)\](?::\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1')
  if (isIPv4(bare)) return bare
  if (!isIPv6(bare)) return undefined
  return new SocketAddress({ address: bare, family: 'ipv6' }).address.replace(/^::ffff:(?=\d+\.)/, '')
}

/** An IPv6 customer holds a /64: counting single addresses would count nothing. Of an address in its one spelling. */
export function network (ip: string): string {
  if (!isIPv6(ip)) return ip
  const [left = [], right] = ip.split('::').map((half) => half === '' ? [] : half.split(':'))
  const zeros = right === undefined ? [] : Array.from({ length: 8 - left.length - right.length }, () => '0')
  return [...left, ...zeros, ...(right ?? [])].slice(0, 4).join(':')
}

/** Whether an address, in any spelling, is one of these or in one of these networks (CIDR). */
export function addressMatcher (cidrs: readonly string[]): (address: string | undefined) => boolean {
  const list = new BlockList()
  for (const cidr of cidrs) {
    const [address = '', prefix] = cidr.split('/')
    const family = familyOf(address)
    if (prefix === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(prefix), family)
  }
  return (text = '') => {
    const address = canonicalAddress(text)
    return address !== undefined && list.check(address, familyOf(address))
  }
}

function familyOf (address: string): 'ipv4' | 'ipv6' {
  return isIPv4(address) ? 'ipv4' : 'ipv6'
}
