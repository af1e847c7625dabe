/**
 * One plain address: letters, digits and what mail servers take unquoted, then a host name (RFC 5321, without quoted
 * local parts).
 */
const FORM = /^[\p{L}\p{N}.!#$%&'*+/=?^_`{|}~-]+@[\p{L}\p{N}](?:[\p{L}\p{N}.-]*[\p{L}\p{N}])?$/u
const LONGEST = 254

/**
 * The one spelling of an address under which an account is found: without blanks around it, in lower case, composed
 * (NFC).
 */
export function normalizeEmail (email: string): string {
  return email.trim().toLowerCase().normalize('NFC')
}

export function isEmail (email: string): boolean {
  return email.length <= LONGEST && FORM.test(email)
}
