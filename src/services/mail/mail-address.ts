import { domainToASCII } from 'node:url'

/** RFC 5321, 4.5.3.1: a path has 256 octets with its angle brackets, a local part 64. */
const ADDRESS_BYTES = 254
const LOCAL_MAX = 64

/**
 * The dot-string of RFC 5321 without `!`, `%`, `/` and `|`, in which some mail systems read a route, a file or a
 * command; and without `=?`, which begins an encoded word: programs decode it into another address.
 */
const LOCAL = /^(?!.*=\?)[\w#$&'*+=?^`{}~-]+(?:\.[\w#$&'*+=?^`{}~-]+)*$/
/** What a domain may be written with before UTS-46 maps it; control and format characters are not among them. */
const WRITTEN_DOMAIN = /^[\p{L}\p{M}\p{N}.-]+$/u
/**
 * Two labels or more, the last one no number: an address of the Internet, neither a host of the local network nor an IP
 * address.
 */
const DOMAIN = /^(?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?\.)+[a-z][a-z\d-]{0,61}[a-z\d]$/

export interface Mailbox { name: string, address: string }

/**
 * One plain e-mail address, its domain in lower case and in ASCII; undefined for anything else. Quotes, comments,
 * groups, routes, IP literals and every kind of line end are not plain: parsers do not agree about them.
 */
export function plainAddress (text: string): string | undefined {
  if (Buffer.byteLength(text) > ADDRESS_BYTES) return undefined
  const at = text.indexOf('@')
  const local = text.slice(0, Math.max(at, 0))
  const written = text.slice(at + 1)
  if (local.length > LOCAL_MAX || !LOCAL.test(local) || !WRITTEN_DOMAIN.test(written)) return undefined
  const domain = domainToASCII(written)
  const address = `${local}@${domain}`
  return DOMAIN.test(domain) && address.length <= ADDRESS_BYTES ? address : undefined
}

/** A sender: `address` or `Name <address>`; undefined for anything else. */
export function mailbox (text: string): Mailbox | undefined {
  const open = text.endsWith('>') ? text.lastIndexOf('<') : -1
  const name = open === -1 ? '' : text.slice(0, open).trim().replace(/^"(.*)"$/, '$1')
  const address = plainAddress(open === -1 ? text : text.slice(open + 1, -1))
  return address === undefined || /["<>\\]/.test(name) || !isOneLine(name) ? undefined : { name, address }
}

/** Without control characters, line ends of any kind and halves of characters. */
export function isOneLine (text: string): boolean {
  return !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(text)
}
