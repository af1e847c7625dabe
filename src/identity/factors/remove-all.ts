import { eq } from 'drizzle-orm'
import type { FastifyInstance } from 'fastify'
import { factors, sessions } from '#drizzle/tables/identity.ts'
import { webauthn_credentials } from '#drizzle/tables/webauthn.ts'
import type { AuditEntry } from '#src/services/audit/log.ts'
import type { Transaction } from '#src/database/connect.ts'
import type { User } from '../people/find-users.ts'
import { notify } from '../sign-in/notices.ts'
import { listPasskeys } from './webauthn/credentials.ts'

/**
 * Takes all second factors and passkeys from a person, for whom an administrator begins anew: the password is all that
 * opens the account then. Their sessions end. The person is locked; the caller delivers mails after the commit.
 * @returns what is to be written into the audit log, as the last statements of the transaction
 */
export async function removeAllProofs (
  app: Pick<FastifyInstance, 'mail'>,
  tx: Transaction,
  person: User
): Promise<Pick<AuditEntry, 'action' | 'object' | 'details'>[]> {
  const { id: user } = person
  const passkeys = await listPasskeys(tx, user)
  await tx.delete(sessions).where(eq(sessions.user_id, user))
  await tx.delete(webauthn_credentials).where(eq(webauthn_credentials.user_id, user))
  await tx.delete(factors).where(eq(factors.user_id, user))
  if (person.factors.length + passkeys.length > 0) await notify(app, tx, person, 'access_reset')
  return [
    ...person.factors.map(({ id, factor_type: type, status }) => (
      { action: 'fattore_rimosso', object: `factor:${id}`, details: { type, status, user } } as const
    )),
    ...passkeys.map(({ id }) => ({ action: 'passkey_eliminata', object: `passkey:${id}`, details: { user } } as const))
  ]
}
