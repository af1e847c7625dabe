import { AuthError } from '../errors.ts'
import { PASSWORD_PROBLEMS, passwordProblems } from './passwords.ts'

/** @throws AuthError weak_password with its reasons */
export function strongPassword (password: string, email: string): void {
  const reasons = passwordProblems(password, email)
  if (reasons.length > 0) {
    throw new AuthError('weak_password', { message: `La password ${PASSWORD_PROBLEMS[reasons[0]!]}`, reasons })
  }
}
