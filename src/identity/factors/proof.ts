import type { Config } from '#src/config/config.ts'
import { AuthError } from '../errors.ts'
import { FRESH_MS, type SignedIn } from '../sign-in/sessions.ts'
import { recentUntil } from '../standing.ts'

/**
 * Whoever has a second factor changes what counts as one only after proving it: recently, where the server wants that
 * of grave steps. Otherwise a session left open could make itself a new factor, and prove that.
 * @throws AuthError insufficient_aal, with `refusal` where nothing was proven at all
 */
export function requireProof (
  { user, session }: SignedIn,
  { REQUIRE_RECENT_MFA }: Pick<Config, 'REQUIRE_RECENT_MFA'>,
  refusal: { status?: number, message?: string } = {}
): void {
  if (!user.factors.some(({ status }) => status === 'verified')) return
  if (session.factor_id === null) throw new AuthError('insufficient_aal', refusal)
  if (REQUIRE_RECENT_MFA && (recentUntil(session.amr) ?? 0) <= Date.now()) {
    throw new AuthError('insufficient_aal', { message: 'The second factor must be proven again' })
  }
}

/**
 * A passkey opens the account like a password: whoever makes one has signed in, or proven a second factor, within the
 * time in which a new password needs no current one.
 * @throws AuthError insufficient_aal, reauthentication_needed
 */
export function requireFresh (signedIn: SignedIn, config: Pick<Config, 'REQUIRE_RECENT_MFA'>): void {
  requireProof(signedIn, config)
  const { created_at, amr } = signedIn.session
  const latest = Math.max(created_at.getTime(), ...amr.map(({ timestamp }) => timestamp * 1000))
  if (Date.now() - latest < FRESH_MS) return
  throw new AuthError('reauthentication_needed', { message: 'A new passkey requires a sign-in of the last 24 hours' })
}
