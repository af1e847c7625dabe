import type { FastifyInstance } from 'fastify'
import { plainAddress } from '#src/services/mail/address.ts'
import type { Executor } from '#src/database/connect.ts'
import type { User } from '../people/find-users.ts'
import { languageOfPerson } from '../languages.ts'
import { composeNotice, type NoticeKind } from './mails.ts'

/**
 * Tells a person by mail what was done to their account, in the transaction that does it; the caller calls
 * `app.mail.deliver()` after the commit. Without a mail server, or an address that was proven, nobody is told.
 */
export async function notify (
  { mail }: Pick<FastifyInstance, 'mail'>,
  tx: Executor,
  { email, email_confirmed_at, user_metadata }: Pick<User, 'email' | 'email_confirmed_at' | 'user_metadata'>,
  kind: NoticeKind
): Promise<void> {
  if (!mail.configured || email_confirmed_at === null || plainAddress(email) === undefined) return
  await mail.enqueue(tx, { to: email, ...composeNotice(kind, languageOfPerson({ user_metadata })) })
}
