import type { FastifyJWTOptions } from '@fastify/jwt'
import type { Config } from './config.ts'
import type { Keys } from './keys.ts'

/** The claims of an access token (RFC 7519, and `role` as Supabase Auth writes it). */
export interface Claims {
  sub: string
  role: string
  aud?: string
  iss?: string
  iat?: number
  exp?: number
}

const AUDIENCE = 'authenticated'

/** How access tokens are signed and checked: one algorithm, one issuer, one audience, and an expiry that cannot be left out. */
export function tokenSettings (config: Config, keys: Keys): FastifyJWTOptions {
  const issuer = `${config.PUBLIC_URL}/auth/v1`
  return {
    secret: keys.derive('access-token'),
    sign: { algorithm: 'HS256', iss: issuer, aud: AUDIENCE, expiresIn: '1h' },
    verify: { algorithms: ['HS256'], allowedIss: issuer, allowedAud: AUDIENCE, requiredClaims: ['iss', 'aud', 'sub', 'role', 'iat', 'exp'], maxAge: '24h' }
  }
}
