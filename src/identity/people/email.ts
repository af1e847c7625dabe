import type { Keys } from '#src/lib/secrets.ts'

/**
 * One plain address in ASCII: letters, digits and what mail servers take unquoted, then a host name (RFC 5321, without
 * quoted local parts). The Kelvin sign, a dotless i or full-width letters would become other letters in lower case.
 */
const FORM = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/
const SPACES_AROUND = /^[ \t\r\n]+|[ \t\r\n]+$/g
const LONGEST = 254

/**
 * The normalized form of an address, by which an account is found: without spaces around it, ASCII letters in lower
 * case. Other characters stay as they are: an address that has some is no address of an account.
 */
export function normalizeEmail (email: string): string {
  return email.replace(SPACES_AROUND, '').replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

export function isEmail (email: string): boolean {
  const address = normalizeEmail(email)
  return address.length <= LONGEST && FORM.test(address)
}

/** What the audit log calls an address that may have no account here: not the address itself. */
export function accountFingerprint (keys: Keys, email: string): string {
  return keys.fingerprint('audit/account', normalizeEmail(email)).toString('hex').slice(0, 16)
}
