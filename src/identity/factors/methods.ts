import type { AssuranceLevel, FactorType } from '#schemas/auth/factor.ts'

/** The method that a session has in its `amr` once a factor of each type was proven in it. */
export const METHODS: Readonly<Record<FactorType, string>> = {
  totp: 'totp',
  webauthn: 'mfa/webauthn',
  recovery_code: 'mfa/recovery_code'
}

/** The method of a session that a passkey began. */
export const PASSKEY = 'passkey'

/** Whether a method of `amr` is a second factor; further ones are those of external providers. */
export function isSecondFactor (method: string): boolean {
  return method === METHODS.totp || method.startsWith('mfa/')
}

/** The level of a session. */
export function levelOf ({ factor_id }: { factor_id: string | null }): AssuranceLevel {
  return factor_id === null ? 'aal1' : 'aal2'
}
