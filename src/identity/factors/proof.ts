import { randomUUID } from 'node:crypto'
import { and, eq, isNull, sql } from 'drizzle-orm'
import { sessions } from '#drizzle/tables/identity.ts'
import type { FactorType } from '#schemas/auth/factor.ts'
import type { Config } from '#src/config/config.ts'
import type { Transaction } from '#src/database/connect.ts'
import { stepError } from '#src/http/auth.ts'
import { AuthError } from '../errors.ts'
import { getUser } from '../people/find-users.ts'
import { FRESH_MS, type SessionRow, type SignedIn } from '../sign-in/person-sessions.ts'
import { METHODS, recentUntil } from '../session-status.ts'
import { PROOF_STEP } from '../tokens/refresh-token.ts'

/**
 * A person with a second factor must prove it before a change of factors. With `REQUIRE_RECENT_MFA` the proof must be
 * recent. Otherwise anyone with an open session could enrol and prove a new factor. A printed password must be replaced
 * first, because a stranger who found it could enrol a factor and lock the owner out.
 * @throws PasswordDaCambiare
 * @throws AuthError insufficient_aal, with `refusal` when no factor was proven
 */
export function requireProof (
  { user, session }: SignedIn,
  { REQUIRE_RECENT_MFA }: Pick<Config, 'REQUIRE_RECENT_MFA'>,
  refusal: { status?: number, message?: string } = {}
): void {
  if (user.password_printed) throw stepError('password')
  if (!user.factors.some(({ status }) => status === 'verified')) return
  if (session.factor_id === null) throw new AuthError('insufficient_aal', refusal)
  if (REQUIRE_RECENT_MFA && (recentUntil(session.amr) ?? 0) <= Date.now()) {
    throw new AuthError('insufficient_aal', { message: 'The second factor must be proven again' })
  }
}

/**
 * A passkey allows the sign-in like a password. To create a passkey, the person must have signed in, or proven a second
 * factor, within `FRESH_MS`.
 * @throws PasswordDaCambiare
 * @throws AuthError insufficient_aal, reauthentication_needed
 */
export function requireFresh (signedIn: SignedIn, config: Pick<Config, 'REQUIRE_RECENT_MFA'>): void {
  requireProof(signedIn, config)
  const { created_at, amr } = signedIn.session
  const latest = Math.max(created_at.getTime(), ...amr.map(({ timestamp }) => timestamp * 1000))
  if (Date.now() - latest < FRESH_MS) return
  throw new AuthError('reauthentication_needed', { message: 'A new passkey requires a sign-in of the last 24 hours' })
}

/**
 * Raises a session to `aal2` after a second factor was proven in it. A session at `aal1` gets a new id. So tokens from
 * before the proof, which may be copies, are not valid for it. A session already at `aal2` keeps its id, but its
 * earlier refresh tokens become void. The person's other sessions at `aal1` end, because a thief who knows only the
 * password may have started them. Requires the person's lock.
 */
export async function raiseSession (
  tx: Transaction, before: SessionRow, factor: { id: string, factor_type: FactorType }
): Promise<SignedIn> {
  const { id, user_id, amr } = before
  const method = METHODS[factor.factor_type]
  const now = new Date()
  const proof = { method, timestamp: Math.floor(now.getTime() / 1000) }
  const proven = {
    factor_id: factor.id,
    // The latest method comes first, as in the protocol.
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
