import { createSigner } from 'fast-jwt'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'

/** The audience of access tokens (RFC 7519 `aud`), and the role of every user in them. The role gives no rights. */
export const AUDIENCE = 'authenticated'

/** The roles of machine tokens: the anonymous key of the front end, and the service key, which has all rights. */
type MachineRole = 'anon' | 'service_role'

/** Fixed times, so that an installation always has the same keys: 2026-01-01, and ten years later. */
const ISSUED_AT = 1_767_225_600
const EXPIRES_AT = 2_082_758_400
const MOMENT_S = 60

/** The secret that signs machine tokens (HS256). Users' tokens are signed with key pairs. */
export function machineSecret (keys: Keys): Buffer {
  return keys.derive('machine-token')
}

export function issuerOf (config: Config): string {
  return `${config.PUBLIC_URL}/auth/v1`
}

/** The anonymous key is public. It only identifies the installation. */
export function anonKey (config: Config, keys: Keys): string {
  return machineToken(config, keys, 'anon')
}

export function serviceKey (config: Config, keys: Keys): string {
  return machineToken(config, keys, 'service_role')
}

/** A service key for an immediate call by this machine. It expires after a minute, so a stolen key is soon useless. */
export function momentaryServiceKey (config: Config, keys: Keys): string {
  const now = Math.floor(Date.now() / 1000)
  return machineToken(config, keys, 'service_role', { iat: now, exp: now + MOMENT_S })
}

function machineToken (
  config: Config, keys: Keys, role: MachineRole, times = { iat: ISSUED_AT, exp: EXPIRES_AT }
): string {
  const sign = createSigner({ key: machineSecret(keys), algorithm: 'HS256' })
  return sign({ iss: issuerOf(config), role, ...times })
}
