import { isIPv4, isIPv6 } from 'node:net'
import { addressMatcher, canonicalAddress } from './addresses.ts'

/* Public IP addresses. A user may make the server connect only to these (SSRF). */

/**
 * IPv4 that is not globally reachable (IANA IPv4 Special-Purpose Address Registry), multicast and reserved. This
 * includes the metadata services of clouds: 169.254.169.254, 100.100.100.200, 192.0.0.192. Azure's has its own entry.
 */
const CLOSED_V4 = [
  '0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24',
  '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24',
  '224.0.0.0/4', '240.0.0.0/4', '168.63.129.16/32'
]
/** All assigned global IPv6 unicast addresses. All other addresses are not public. */
const GLOBAL_V6 = ['2000::/3']
/** Exceptions: protocol assignments with Teredo, documentation, and 6to4, which can embed any IPv4 address. */
const CLOSED_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

const isClosedV4 = addressMatcher(CLOSED_V4)
const isGlobalV6 = addressMatcher(GLOBAL_V6)
const isClosedV6 = addressMatcher(CLOSED_V6)
const isLoopback = addressMatcher(['127.0.0.0/8', '::1/128'])

/** Whether an IP address, in any notation, is public. False for text that is not an IP address. */
export function isPublicAddress (text: string): boolean {
  const address = canonicalAddress(text)
  if (address === undefined) return false
  if (isIPv4(address)) return !isClosedV4(address)
  return isIPv6(address) && isGlobalV6(address) && !isClosedV6(address)
}

/** Whether an IP address, in any notation, is loopback. */
export function isLoopbackAddress (text: string): boolean {
  return isLoopback(text)
}
