import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { isLoopbackHost } from '#src/lib/addresses.ts'
import { isLoopbackAddress, isPublicAddress } from '#src/lib/public-addresses.ts'

/* To whom events may be delivered: an administrator names the address, and it must not be one of our own network. */

/** Names that stand for this machine or a private network (RFC 6761, 6762, 8375, ICANN's `internal`). */
const PRIVATE_NAME = /(?:^|\.)(?:localhost|local|internal|home\.arpa|lan|intranet)\.?$/
const DNS = { timeout: 2000, tries: 2 }

/** All IP addresses of a name. */
export type Resolve = (name: string) => Promise<string[]>

/** The receiver is not one to which anything may be sent. */
export class ForbiddenReceiver extends Error {
  readonly code = 'INDIRIZZO_VIETATO'
}

export interface Receivers {
  /** What is wrong with an address, Italian, as far as can be told without asking for it. */
  faultOf (url: string): string | undefined
  /**
   * The IP addresses of a receiver, all of them allowed. The connection must go to one of these: a name that is
   * resolved again may say something else.
   * @throws ForbiddenReceiver; or the error of the resolution
   */
  addressesOf (url: URL): Promise<string[]>
}

/**
 * @param toLoopback this machine may be a receiver, over plain HTTP too
 * @param resolve for tests
 */
export function receivers (toLoopback: boolean, resolve: Resolve = resolveName): Receivers {
  const isAllowed = (address: string) => isPublicAddress(address) || (toLoopback && isLoopbackAddress(address))

  function faultOf (text: string): string | undefined {
    if (!URL.canParse(text)) return 'non è un indirizzo completo'
    const { protocol, hostname, port, username, password, hash } = new URL(text)
    const isOwn = toLoopback && isLoopbackHost(hostname)
    if (protocol !== 'https:' && !(protocol === 'http:' && isOwn)) return 'deve essere https'
    if (username !== '' || password !== '') return 'non può contenere credenziali'
    if (hash !== '') return 'non può contenere un frammento (#)'
    if (port === '0') return 'non può avere la porta 0'
    const host = bare(hostname)
    const isClosed = isIP(host) === 0 ? !host.includes('.') || PRIVATE_NAME.test(host) : !isAllowed(host)
    return isClosed && !isOwn ? 'deve essere un indirizzo pubblico' : undefined
  }

  return {
    faultOf,
    async addressesOf (url) {
      // The setting may have been another one when the address was saved.
      if (faultOf(url.href) !== undefined) throw new ForbiddenReceiver()
      const host = bare(url.hostname)
      const addresses = isIP(host) === 0 && host !== 'localhost' ? await resolve(host) : [host]
      const found = host === 'localhost' ? ['127.0.0.1', '::1'] : addresses
      if (found.length === 0 || !found.every(isAllowed)) throw new ForbiddenReceiver()
      return found
    }
  }
}

function bare (hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}

/** By DNS alone, without the threads that files and passwords need: a name server that is silent would hold them up. */
async function resolveName (name: string): Promise<string[]> {
  const resolver = new Resolver(DNS)
  const found = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  const addresses = found.flatMap((each) => each.status === 'fulfilled' ? each.value : [])
  const [first] = found
  if (addresses.length === 0 && first.status === 'rejected') throw first.reason
  return addresses
}
