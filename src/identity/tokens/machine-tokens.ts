import { createSigner } from 'fast-jwt'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'

/**
 * Roles of tokens that no person stands behind: the public key of the front end, and the key that may do everything.
 */
export type MachineRole = 'anon' | 'service_role'

/** Fixed, so that the keys of an installation are always the same text: 2026-01-01 and ten years later. */
const ISSUED_AT = 1_767_225_600
const EXPIRES_AT = 2_082_758_400

/** The secret that signs machine tokens (HS256); users' tokens are signed with key pairs. */
export function machineSecret (keys: Keys): Buffer {
  return keys.derive('machine-token')
}

/** Who signs every token of this installation: the provider's own address, as Supabase Auth has it. */
export function issuerOf (config: Config): string {
  return `${config.PUBLIC_URL}/auth/v1`
}

/** The anonymous key: public, says only which installation is meant. */
export function anonKey (config: Config, keys: Keys): string {
  return machineToken(config, keys, 'anon')
}

/** The service key: an administrator without a person, for machines that are trusted with everything. */
export function serviceKey (config: Config, keys: Keys): string {
  return machineToken(config, keys, 'service_role')
}

function machineToken (config: Config, keys: Keys, role: MachineRole): string {
  const sign = createSigner({ key: machineSecret(keys), algorithm: 'HS256' })
  return sign({ iss: issuerOf(config), role, iat: ISSUED_AT, exp: EXPIRES_AT })
}
