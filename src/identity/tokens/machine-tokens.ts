import { createSigner } from 'fast-jwt'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'

/** The roles of machine tokens: the public key of the front end, and the service key, which may do everything. */
export type MachineRole = 'anon' | 'service_role'

/** Fixed times, so that an installation always has the same keys: 2026-01-01, and ten years later. */
const ISSUED_AT = 1_767_225_600
const EXPIRES_AT = 2_082_758_400

/** The secret that signs machine tokens (HS256); users' tokens are signed with key pairs. */
export function machineSecret (keys: Keys): Buffer {
  return keys.derive('machine-token')
}

/** The issuer of every token of this installation: the provider's own address, as with Supabase Auth. */
export function issuerOf (config: Config): string {
  return `${config.PUBLIC_URL}/auth/v1`
}

/** The anonymous key: public, it only names the installation. */
export function anonKey (config: Config, keys: Keys): string {
  return machineToken(config, keys, 'anon')
}

/** The service key: an administrator that is not a person, for trusted machines. */
export function serviceKey (config: Config, keys: Keys): string {
  return machineToken(config, keys, 'service_role')
}

function machineToken (config: Config, keys: Keys, role: MachineRole): string {
  const sign = createSigner({ key: machineSecret(keys), algorithm: 'HS256' })
  return sign({ iss: issuerOf(config), role, iat: ISSUED_AT, exp: EXPIRES_AT })
}
