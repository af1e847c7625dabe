import { timingSafeEqual } from 'node:crypto'
import { and, eq } from 'drizzle-orm'
import { factors } from '#drizzle/tables/identity.ts'
import type { Executor } from '#src/database/connect.ts'
import type { IdentityOptions } from '../options.ts'
import type { User } from '../people/find-users.ts'
import { isUuid } from '../uuid.ts'
import { unsealSecret } from './secrets.ts'
import { enrolmentOf, usualIssuer, type Enrolment } from './totp.ts'

/**
 * What an app was told that still waits for its first code, once more, for whoever shows its secret: another session
 * of the person, which may be that of a stranger with the password, does not come to know it.
 * @param shown the secret as it was shown
 */
export async function pendingEnrolment (
  db: Executor,
  { config, keys }: IdentityOptions,
  { id: user_id, email }: Pick<User, 'id' | 'email'>,
  { id, secret: shown }: { id: string, secret: string }
): Promise<Enrolment | undefined> {
  if (!isUuid(id)) return undefined
  const [found] = await db.select({ secret: factors.secret }).from(factors)
    .where(and(eq(factors.id, id), eq(factors.user_id, user_id), eq(factors.status, 'unverified')))
  if (!found?.secret) return undefined
  const enrolment = await enrolmentOf(unsealSecret(keys, id, found.secret), usualIssuer(config), email)
  const [known, given] = [Buffer.from(enrolment.secret), Buffer.from(shown)]
  return known.length === given.length && timingSafeEqual(known, given) ? enrolment : undefined
}
