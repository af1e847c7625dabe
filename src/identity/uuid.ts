import { AuthError } from './errors.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export function isUuid (value: unknown): value is string {
  return typeof value === 'string' && UUID.test(value)
}

/** Parses an id in a path into the database's lower case. @throws AuthError validation_failed, with a 404 */
export function parseUuid (text: string, name: string): string {
  if (!isUuid(text)) throw new AuthError('validation_failed', { status: 404, message: `${name} must be an UUID` })
  return text.toLowerCase()
}
