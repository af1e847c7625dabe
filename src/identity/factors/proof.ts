import type { Config } from '#src/config/config.ts'
import { AuthError } from '../errors.ts'
import type { SignedIn } from '../sign-in/sessions.ts'
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
