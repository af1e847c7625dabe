import type { FastifyInstance } from 'fastify'
import type { UserUpdate } from '#schemas/auth/requests.ts'
import type { Transaction } from '#src/plugins/database/connect.ts'
import { AuthError } from '../errors.ts'
import type { User } from '../users.ts'
import type { ProviderOptions } from './routes.ts'

/** What of an account goes by mail. */
export interface MailFlows {
  /** A new address that can be asked for, normalized; undefined when it is the present one. @throws AuthError */
  newAddress (user: User, email: string): string | undefined
  /** Writes to both addresses; the account keeps the old one until both have answered. */
  startEmailChange (tx: Transaction, user: User, email: string, redirectTo: string | undefined, challenge: Pick<UserUpdate, 'code_challenge' | 'code_challenge_method'>): Promise<User>
  /** Whether a code that was sent for a change of password is right; it is good once. */
  takeNonce (user: User, nonce: string): Promise<boolean>
}

export function mailFlows (_app: FastifyInstance, _options: ProviderOptions): MailFlows {
  return {
    newAddress () { throw new AuthError('email_provider_disabled') },
    startEmailChange () { throw new AuthError('email_provider_disabled') },
    async takeNonce () { return false }
  }
}
