import { AuthError } from '../errors.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** An id in an address, as the database writes it. @throws AuthError validation_failed, with a 404 */
export function uuidOf (text: string, name: string): string {
  if (!UUID.test(text)) throw new AuthError('validation_failed', { status: 404, message: `${name} must be an UUID` })
  return text.toLowerCase()
}
