import { AuthError } from '../errors.ts'

/** E.164, as Supabase Auth reads it: with or without the plus, with spaces. */
const NUMBER = /^[1-9][0-9]{1,14}$/

/** @throws AuthError validation_failed */
export function requirePhone (phone: string): void {
  if (!NUMBER.test(phone.replace(/[+ ]/g, ''))) {
    throw new AuthError('validation_failed', { message: 'Invalid phone number format (E.164 required)' })
  }
}
