import type { AuthenticationMethod } from '#drizzle/tables/identity.ts'
import type { Config } from '#src/config/config.ts'
import type { Principal } from '#src/http/auth.ts'
import type { AssuranceLevel, FactorType } from '#schemas/auth/factor.ts'

/** How a session, or the person behind a key, stands at present. */
export interface Standing {
  userId: string
  admin: boolean
  /** The person has signed up without an administrator and has no role yet. */
  pending: boolean
  /** When it ends by itself, milliseconds since the epoch. */
  endsAt: number
  lacks?: Principal['lacks']
  recentUntil?: number | undefined
}

export interface KeyStanding extends Standing { hash: Buffer, scopes: readonly string[], lastUsedAt: number }

/** For so long a proven second factor counts as recent. */
const RECENT_MS = 900_000

export function mustHaveFactor ({ REQUIRE_MFA }: Pick<Config, 'REQUIRE_MFA'>, { admin }: { admin: boolean }): boolean {
  return REQUIRE_MFA === 'all' || (REQUIRE_MFA === 'admin' && admin)
}

/**
 * Whether an administrator's key may administer: one that was made with the password alone would otherwise undo the
 * second factor that came after it.
 */
export function mayAdminister ({ second_factor, hasFactor }: { second_factor: boolean, hasFactor: boolean }): boolean {
  return second_factor || !hasFactor
}

/** Until when the second factor of a session counts as recently proven, by what was proven in it and when. */
export function recentUntil (amr: readonly AuthenticationMethod[]): number | undefined {
  const times = amr.filter(({ method }) => isSecondFactor(method)).map(({ timestamp }) => timestamp)
  return times.length > 0 ? Math.max(...times) * 1000 + RECENT_MS : undefined
}

/** The method that a session has in its `amr` once a factor of each type was proven in it. */
export const METHODS: Readonly<Record<FactorType, string>> = {
  totp: 'totp', webauthn: 'mfa/webauthn', recovery_code: 'mfa/recovery_code'
}

export const PASSKEY = 'passkey'

/** Whether a method of `amr` is a second factor; further ones are those of external providers. */
export function isSecondFactor (method: string): boolean {
  return method === METHODS.totp || method.startsWith('mfa/')
}

export function levelOf ({ factor_id }: { factor_id: string | null }): AssuranceLevel {
  return factor_id === null ? 'aal1' : 'aal2'
}
