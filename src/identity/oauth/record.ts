import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Transaction } from '#src/database/connect.ts'
import type { UserRow } from '../people/find-users.ts'
import { ADDRESS_PROVEN } from '../people/revoke-access.ts'
import type { SessionRow } from '../sign-in/sessions.ts'
import type { AccountMatch } from './accounts.ts'

/** A sign-in through a provider, as it has ended. */
interface ProviderSignIn {
  request: FastifyRequest
  user: Pick<UserRow, 'id'>
  provider: string
  how: AccountMatch['how']
  /** Linked because the address is the account's, not because the person has asked for it. */
  automatic: boolean
  accessRevoked: boolean
  /** Without, the client gets a code: the session begins, and is put on record, when it is exchanged. */
  session: SessionRow | undefined
}

/** Writes a sign-in through a provider to the audit log; the last statements of the transaction. */
export async function recordSignIn (
  app: FastifyInstance,
  tx: Transaction,
  { request, user, provider, how, automatic, accessRevoked, session }: ProviderSignIn
): Promise<void> {
  const entry = { actor: `user:${user.id}`, ip: request.ip, object: `user:${user.id}` }
  if (how === 'created') {
    await app.audit.append(tx, { ...entry, action: 'utente_creato', details: { role: 'pending', provider } })
  }
  if (how === 'linked') {
    await app.audit.append(tx, { ...entry, action: 'identita_collegata', details: { provider, automatic } })
  }
  if (accessRevoked) {
    await app.audit.append(tx, { ...entry, action: 'sessioni_revocate', details: { ...ADDRESS_PROVEN, provider } })
  }
  if (session) {
    await app.audit.append(tx, {
      ...entry,
      action: 'accesso',
      object: `session:${session.id}`,
      details: { method: 'oauth', provider }
    })
  }
}
