import { randomUUID } from 'node:crypto'
import { and, eq, isNull, sql } from 'drizzle-orm'
import { sessions } from '#drizzle/tables/identity.ts'
import type { FactorType } from '#schemas/auth/factor.ts'
import type { Transaction } from '#src/database/connect.ts'
import { getUser } from '../people/find-users.ts'
import type { SessionRow, SignedIn } from '../sign-in/sessions.ts'
import { PROOF_STEP } from '../tokens/refresh-token.ts'
import { METHODS } from './methods.ts'

/**
 * Brings a session to `aal2`: a second factor was proven in it. From `aal1` it goes on under a new id, so that no token
 * from before the proof stands for it: such a one may be a copy. Already at `aal2`, it is proven anew and keeps its id,
 * and its refresh tokens from before are void.
 * The person's sessions at `aal1` end: whoever has begun one knows the password, and perhaps nothing else. The person
 * is locked.
 */
export async function raiseSession (
  tx: Transaction,
  before: SessionRow,
  factor: { id: string, factor_type: FactorType }
): Promise<SignedIn> {
  const { id, user_id, amr } = before
  const method = METHODS[factor.factor_type]
  const now = new Date()
  const proof = { method, timestamp: Math.floor(now.getTime() / 1000) }
  const proven = {
    factor_id: factor.id,
    // The latest first, as the protocol has it.
    amr: [proof, ...amr.filter((each) => each.method !== method)],
    updated_at: now
  }
  await tx.delete(sessions).where(and(eq(sessions.user_id, user_id), isNull(sessions.factor_id)))
  const [session] = before.factor_id === null
    ? await tx.insert(sessions)
      .values({ ...before, ...proven, id: randomUUID(), refresh_counter: 0, refreshed_at: now }).returning()
    : await tx.update(sessions)
      .set({ ...proven, refresh_counter: sql`(${sessions.refresh_counter} / ${PROOF_STEP} + 1) * ${PROOF_STEP}` })
      .where(eq(sessions.id, id)).returning()
  return { user: await getUser(tx, user_id), session: session! }
}
