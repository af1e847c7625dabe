import { and, eq, lt, sql } from 'drizzle-orm'
import { factor_challenges as t, factors } from '#drizzle/tables/identity.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { AuthError } from '../errors.ts'
import { isUuid } from '../uuid.ts'

const LIFETIME_MS = 300_000

export interface Challenge { id: string, expiresAt: Date }

/** Begins the proof of a factor. @param network from where; @param challenge what a device is to sign */
export async function beginChallenge (
  db: Executor,
  factor_id: string,
  network: string,
  challenge: string | null
): Promise<Challenge> {
  const [, [made]] = await Promise.all([
    db.delete(t).where(and(eq(t.factor_id, factor_id), lt(t.created_at, sql`now() - interval '1 hour'`))),
    db.insert(t).values({ factor_id, network, challenge }).returning(),
    db.update(factors).set({ last_challenged_at: new Date() }).where(eq(factors.id, factor_id))
  ])
  return { id: made!.id, expiresAt: new Date(made!.created_at.getTime() + LIFETIME_MS) }
}

/**
 * What a device was to sign; null for an app.
 * @throws AuthError mfa_factor_not_found, mfa_ip_address_mismatch, mfa_challenge_expired
 */
export async function checkChallenge (
  db: Executor,
  factor_id: string,
  id: string,
  network: string
): Promise<string | null> {
  const [found] = isUuid(id) ? await db.select().from(t).where(and(eq(t.id, id), eq(t.factor_id, factor_id))) : []
  if (!found) throw unknownChallenge()
  if (found.network !== network) throw new AuthError('mfa_ip_address_mismatch')
  if (found.created_at.getTime() + LIFETIME_MS <= Date.now()) throw new AuthError('mfa_challenge_expired')
  return found.challenge
}

/** Ends a challenge, which is good once. @throws AuthError mfa_factor_not_found, when another request has ended it */
export async function endChallenge (tx: Transaction, id: string): Promise<void> {
  const ended = await tx.delete(t).where(eq(t.id, id)).returning({ id: t.id })
  if (ended.length === 0) throw unknownChallenge()
}

function unknownChallenge (): AuthError {
  return new AuthError('mfa_factor_not_found', {
    status: 422,
    message: 'MFA factor with the provided challenge ID not found'
  })
}
