import { BlockList, isIPv4, isIPv6, SocketAddress } from 'node:net'

/** A URL that is unsafe for guests' data and credentials. The message omits the URL, which may contain a password. */
export class UnsafeAddress extends Error {
  constructor () {
    super('L’indirizzo del servizio deve essere https, o http su un indirizzo di loopback, senza credenziali')
    this.name = 'UnsafeAddress'
  }
}

/**
 * Parses the URL of an external service: https, or http on loopback only, without credentials.
 * @throws UnsafeAddress for anything else
 */
export function safeAddress (address: string | URL): URL {
  if (!isSafeAddress(String(address))) throw new UnsafeAddress()
  return new URL(address)
}

/** Host and port of the server in a URL. Without a port, the default port of http or https. */
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

/** Whether a URL uses http, which `safeAddress` allows only on loopback. */
export function isPlainHttp (address: string): boolean {
  return new URL(address).protocol === 'http:'
}

/** Takes a host as `URL` returns it, which normalizes IPv4 addresses to four decimal numbers. */
export function isLoopbackHost (hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'))
}

/**
 * Normalizes an IP address for counting and logging: IPv6 as in RFC 5952, IPv4-mapped IPv6 as IPv4, without port,
 * brackets and zone (proxies may add these). Undefined for text that is not an IP address.
 */
export function canonicalAddress (text: string): string | undefined {
  if (isIPv4(text)) return text
  const bare = text.trim().replace(/^\[(.*)\](?::\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1')
  if (isIPv4(bare)) return bare
  if (!isIPv6(bare)) return undefined
  return new SocketAddress({ address: bare, family: 'ipv6' }).address.replace(/^::ffff:(?=\d+\.)/, '')
}

/** The /64 network of an IPv6 address, because one customer usually has a whole /64. IPv4 addresses stay. */
export function network (ip: string): string {
  if (!isIPv6(ip)) return ip
  const [left = [], right] = ip.split('::').map((half) => half === '' ? [] : half.split(':'))
  const zeros = right === undefined ? [] : Array.from({ length: 8 - left.length - right.length }, () => '0')
  return [...left, ...zeros, ...(right ?? [])].slice(0, 4).join(':')
}

/** Whether an IP address, in any notation, matches one of these addresses or CIDR networks. */
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
