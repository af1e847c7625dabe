import type { Keys } from '#src/lib/secrets.ts'

/**
 * One plain ASCII address: letters, digits and symbols that need no quotes, then a host name (RFC 5321). Other letters
 * are rejected, because conversion to lower case would turn the Kelvin sign into an ASCII letter.
 */
const FORM = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/
const SPACES_AROUND = /^[ \t\r\n]+|[ \t\r\n]+$/g
const MAX_LENGTH = 254

/**
 * Normalizes an address for the lookup of an account: no surrounding spaces, ASCII letters in lower case. Other
 * characters are kept, because no account has an address with them.
 */
export function normalizeEmail (email: string): string {
  return email.replace(SPACES_AROUND, '').replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

export function isEmail (email: string): boolean {
  const address = normalizeEmail(email)
  return address.length <= MAX_LENGTH && FORM.test(address)
}

/** The audit log names an address that may have no account by this fingerprint, and not by the address. */
export function accountFingerprint (keys: Keys, email: string): string {
  return keys.fingerprint('audit/account', normalizeEmail(email)).toString('hex').slice(0, 16)
}
