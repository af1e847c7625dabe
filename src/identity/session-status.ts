import type { AuthenticationMethod } from '#drizzle/tables/identity.ts'
import type { Config } from '#src/config/config.ts'
import type { Principal } from '#src/http/auth.ts'
import type { AssuranceLevel, FactorType } from '#schemas/auth/factor.ts'

/** The status of a session, or of the owner of a key. */
export interface SessionStatus {
  userId: string
  admin: boolean
  /** Whether the person has no role that gives rights. */
  pending: boolean
  /** The time when the session or key expires, in milliseconds since the epoch. */
  endsAt: number
  lacks?: Principal['lacks']
  recentUntil?: number | undefined
}

export interface KeyStatus extends SessionStatus { hash: Buffer, scopes: readonly string[], lastUsedAt: number }

/** A proven second factor counts as recent for this long. */
const RECENT_MS = 900_000

export function mustHaveFactor ({ REQUIRE_MFA }: Pick<Config, 'REQUIRE_MFA'>, { admin }: { admin: boolean }): boolean {
  return REQUIRE_MFA === 'all' || (REQUIRE_MFA === 'admin' && admin)
}

/**
 * Whether an administrator's key may administer. A key made with the password alone must not bypass a second factor
 * that was enrolled later.
 */
export function mayAdminister ({ second_factor, hasFactor }: { second_factor: boolean, hasFactor: boolean }): boolean {
  return second_factor || !hasFactor
}

/** The time when the second factors proven in a session stop counting as recent. */
export function recentUntil (amr: readonly AuthenticationMethod[]): number | undefined {
  const times = amr.filter(({ method }) => isSecondFactor(method)).map(({ timestamp }) => timestamp)
  return times.length > 0 ? Math.max(...times) * 1000 + RECENT_MS : undefined
}

/** The method that a proof adds to `amr`, by the type of the factor. */
export const METHODS: Readonly<Record<FactorType, string>> = {
  totp: 'totp', webauthn: 'mfa/webauthn', recovery_code: 'mfa/recovery_code'
}

/** The method of a sign-in with a passkey in `amr`. */
export const PASSKEY = 'passkey'

/** Whether a method of `amr` is a second factor. External providers add other methods. */
function isSecondFactor (method: string): boolean {
  return method === METHODS.totp || method.startsWith('mfa/')
}

export function levelOf ({ factor_id }: { factor_id: string | null }): AssuranceLevel {
  return factor_id === null ? 'aal1' : 'aal2'
}
