import { Type, type Static } from '@sinclair/typebox'
import { Closed } from '#schemas/common.ts'
import type { AuthUser } from './user.ts'

/** The response of sign-in and refresh (RFC 6749, section 5.1, and the user). */
export const AuthSession = Closed({
  access_token: Type.String(),
  token_type: Type.Literal('bearer', { type: 'string' }),
  /** In seconds. */
  expires_in: Type.Integer(),
  /** Seconds since the epoch. */
  expires_at: Type.Integer(),
  refresh_token: Type.String(),
  user: Type.Unsafe<AuthUser>({ $ref: 'UtenteAuth#' }),
  provider_token: Type.Optional(Type.String()),
  provider_refresh_token: Type.Optional(Type.String()),
  /** The password was right, and must be replaced before any other request. */
  weak_password: Type.Optional(Closed({ message: Type.String(), reasons: Type.Array(Type.String()) }))
}, {
  $id: 'SessioneAuth',
  examples: [{
    access_token: 'eyJhbGciOiJFUzI1NiJ9…',
    token_type: 'bearer',
    expires_in: 3600,
    expires_at: 1_795_257_000,
    refresh_token: 'AA…',
    user: {
      id: '6f0f4c5e-2b1a-4c39-9a52-0f5f7f0a1d11',
      aud: 'authenticated',
      role: 'authenticated',
      email: 'anna@example.org',
      phone: '',
      app_metadata: {},
      user_metadata: {},
      identities: [],
      created_at: '2026-11-21T09:30:00.000Z',
      updated_at: '2026-11-21T09:30:00.000Z',
      is_anonymous: false
    }
  }]
})
export type AuthSession = Static<typeof AuthSession>
