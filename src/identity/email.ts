/** One plain address: letters, digits and what mail servers take unquoted, then a host name (RFC 5321, without quoted local parts). */
export const EMAIL_PATTERN = "^[\\p{L}\\p{N}.!#$%&'*+/=?^_`{|}~-]+@[\\p{L}\\p{N}](?:[\\p{L}\\p{N}.-]*[\\p{L}\\p{N}])?$"
export const EMAIL_MAX = 254

const FORM = new RegExp(EMAIL_PATTERN, 'u')

/** The one spelling of an address under which an account is found: without blanks around it, composed (NFC), in lower case. */
export function normalizeEmail (email: string): string {
  return email.trim().normalize('NFC').toLowerCase()
}

export function isEmail (email: string): boolean {
  return email.length <= EMAIL_MAX && FORM.test(email)
}
