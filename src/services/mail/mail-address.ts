import { domainToASCII } from 'node:url'

/** RFC 5321, 4.5.3.1: a path has at most 256 octets with its angle brackets, and a local part 64. */
const ADDRESS_BYTES = 254
const LOCAL_MAX = 64

/**
 * The dot-string of RFC 5321, without `!`, `%`, `/` and `|`, because some mail systems read these as route, file or
 * command. Also without `=?`, which starts an encoded word that could be decoded into another address.
 */
const LOCAL = /^(?!.*=\?)[\w#$&'*+=?^`{}~-]+(?:\.[\w#$&'*+=?^`{}~-]+)*$/
/** Characters allowed in a domain before UTS-46 mapping. Control and format characters are excluded. */
const WRITTEN_DOMAIN = /^[\p{L}\p{M}\p{N}.-]+$/u
/** At least two labels, the last not numeric. So it is neither a local host name nor an IP address. */
const DOMAIN = /^(?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?\.)+[a-z][a-z\d-]{0,61}[a-z\d]$/

export interface Mailbox { name: string, address: string }

/**
 * Normalizes a plain e-mail address, with an ASCII domain in lower case. Undefined for any other text. Quotes,
 * comments, groups, routes, IP literals and line ends are rejected, because parsers disagree about them.
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

/** Parses a sender, `address` or `Name <address>`. Undefined for any other text. */
export function mailbox (text: string): Mailbox | undefined {
  const open = text.endsWith('>') ? text.lastIndexOf('<') : -1
  const name = open === -1 ? '' : text.slice(0, open).trim().replace(/^"(.*)"$/, '$1')
  const address = plainAddress(open === -1 ? text : text.slice(open + 1, -1))
  return address === undefined || /["<>\\]/.test(name) || !isOneLine(name) ? undefined : { name, address }
}

/** Whether a text has no control characters, line separators or lone surrogates. */
export function isOneLine (text: string): boolean {
  return !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(text)
}
