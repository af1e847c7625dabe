import type { FieldError } from '#schemas/common.ts'
import { PASSWORD_PROBLEMS, passwordProblems } from '../sign-in/passwords.ts'
import { isEmail } from './email.ts'

/** What is wrong with the address and the password of a new operator; of the password, its first problem. */
export function operatorFaults ({ email, password }: Readonly<Record<string, unknown>>): FieldError[] {
  const faults: FieldError[] = []
  const address = typeof email === 'string' ? email : undefined
  if (address !== undefined && !isEmail(address)) {
    faults.push({ campo: 'email', messaggio: 'non è un indirizzo e-mail' })
  }
  if (typeof password !== 'string') return faults
  const [problem] = passwordProblems(password, address)
  if (problem !== undefined) faults.push({ campo: 'password', messaggio: PASSWORD_PROBLEMS[problem] })
  return faults
}
