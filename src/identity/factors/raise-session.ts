import { and, eq, isNull, ne, sql } from 'drizzle-orm'
import { sessions } from '#drizzle/tables/identity.ts'
import type { FactorType } from '#schemas/auth/factor.ts'
import type { Transaction } from '#src/plugins/database/connect.ts'
import { getUser } from '../people/find-users.ts'
import type { SessionRow, SignedIn } from '../sign-in/sessions.ts'
import { METHODS } from './methods.ts'

/**
 * Brings a session to `aal2`: a second factor was proven in it. The person's other sessions at `aal1` end: whoever has
 * begun one knows the password, and perhaps nothing else. The person is locked.
 */
export async function raiseSession (
  tx: Transaction,
  { id, user_id, amr }: SessionRow,
  factor: { id: string, factor_type: FactorType }
): Promise<SignedIn> {
  const method = METHODS[factor.factor_type]
  const now = new Date()
  const proof = { method, timestamp: Math.floor(now.getTime() / 1000) }
  const [session] = await tx.update(sessions).set({
    factor_id: factor.id,
    // The latest first, as the protocol has it.
    amr: [proof, ...amr.filter((each) => each.method !== method)],
    // By two: with one, the refresh token from before would still be exchanged for a session at `aal2`.
    refresh_counter: sql`${sessions.refresh_counter} + 2`,
    updated_at: now
  }).where(eq(sessions.id, id)).returning()
  await tx.delete(sessions)
    .where(and(eq(sessions.user_id, user_id), ne(sessions.id, id), isNull(sessions.factor_id)))
  return { user: await getUser(tx, user_id), session: session! }
}
