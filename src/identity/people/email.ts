import type { Keys } from '#src/lib/secrets.ts'

/**
 * One plain address: letters, digits and what mail servers take unquoted, then a host name (RFC 5321, without quoted
 * local parts).
 */
const FORM = /^[\p{L}\p{N}.!#$%&'*+/=?^_`{|}~-]+@[\p{L}\p{N}](?:[\p{L}\p{N}.-]*[\p{L}\p{N}])?$/u
const LONGEST = 254

/**
 * The normalized form of an address, by which an account is found: without spaces around it, in lower case, composed
 * (NFC).
 */
export function normalizeEmail (email: string): string {
  return email.trim().toLowerCase().normalize('NFC')
}

export function isEmail (email: string): boolean {
  return email.length <= LONGEST && FORM.test(email)
}

/** What the audit log calls an address that may have no account here: not the address itself. */
export function accountFingerprint (keys: Keys, email: string): string {
  return keys.fingerprint('audit/account', normalizeEmail(email)).toString('hex').slice(0, 16)
}
