import { Type, type Static } from '@sinclair/typebox'
import { Closed, Instant, Open } from '#schemas/common.ts'
import type { AuthFactor } from './factor.ts'
import { Uuid } from './uuid.ts'

/** Metadata objects may have any fields, as in the protocol. */
export const Metadata = Type.Unsafe<Record<string, unknown>>(Open({}, { examples: [{ name: 'Anna' }] }))

export const AuthIdentity = Closed({
  identity_id: Uuid,
  /** The provider's id of the person. */
  id: Type.String(),
  user_id: Uuid,
  identity_data: Metadata,
  provider: Type.String({ examples: ['email'] }),
  last_sign_in_at: Type.Optional(Instant),
  created_at: Instant,
  updated_at: Instant,
  email: Type.Optional(Type.String())
}, {
  $id: 'IdentitaAuth',
  examples: [{
    identity_id: '1d3c1f0e-7f43-4d55-8a0e-0b6f3f6f2c10',
    id: '6f0f4c5e-2b1a-4c39-9a52-0f5f7f0a1d11',
    user_id: '6f0f4c5e-2b1a-4c39-9a52-0f5f7f0a1d11',
    identity_data: { sub: '6f0f4c5e-2b1a-4c39-9a52-0f5f7f0a1d11', email: 'anna@example.org', email_verified: true },
    provider: 'email',
    created_at: '2026-11-21T09:30:00.000Z',
    updated_at: '2026-11-21T09:30:00.000Z',
    email: 'anna@example.org'
  }]
})

const user = {
  id: Uuid,
  aud: Type.String({ examples: ['authenticated'] }),
  role: Type.String({ examples: ['authenticated'] }),
  email: Type.String({ examples: ['anna@example.org'] }),
  email_confirmed_at: Type.Optional(Instant),
  invited_at: Type.Optional(Instant),
  phone: Type.String({ examples: [''] }),
  confirmation_sent_at: Type.Optional(Instant),
  confirmed_at: Type.Optional(Instant),
  recovery_sent_at: Type.Optional(Instant),
  new_email: Type.Optional(Type.String()),
  email_change_sent_at: Type.Optional(Instant),
  reauthentication_sent_at: Type.Optional(Instant),
  last_sign_in_at: Type.Optional(Instant),
  app_metadata: Metadata,
  user_metadata: Metadata,
  identities: Type.Array(Type.Unsafe<Static<typeof AuthIdentity>>({ $ref: 'IdentitaAuth#' })),
  /** Omitted without factors. */
  factors: Type.Optional(Type.Array(Type.Unsafe<AuthFactor>({ $ref: 'FattoreAuth#' }))),
  created_at: Instant,
  updated_at: Instant,
  banned_until: Type.Optional(Instant),
  deleted_at: Type.Optional(Instant),
  is_anonymous: Type.Boolean({ examples: [false] })
}

const example = {
  id: '6f0f4c5e-2b1a-4c39-9a52-0f5f7f0a1d11',
  aud: 'authenticated',
  role: 'authenticated',
  email: 'anna@example.org',
  phone: '',
  email_confirmed_at: '2026-11-21T09:30:00.000Z',
  confirmed_at: '2026-11-21T09:30:00.000Z',
  app_metadata: { provider: 'email', providers: ['email'], role: 'operator' },
  user_metadata: { name: 'Anna', surname: 'Bianchi' },
  identities: [],
  created_at: '2026-11-21T09:30:00.000Z',
  updated_at: '2026-11-21T09:30:00.000Z',
  is_anonymous: false
}

/** A user in the format of Supabase Auth (`internal/models/user.go`). Unknown values are omitted, never null. */
export const AuthUser = Closed(user, { $id: 'UtenteAuth', examples: [example] })
export type AuthUser = Static<typeof AuthUser>

/** A user with the link generated for them. */
export const AuthUserLink = Closed(
  {
    ...user,
    action_link: Type.String(),
    email_otp: Type.String(),
    hashed_token: Type.String(),
    redirect_to: Type.String(),
    verification_type: Type.String()
  },
  {
    $id: 'UtenteAuthConCollegamento',
    examples: [
      {
        ...example,
        action_link: 'https://locanda.example/auth/v1/verify?token=…&type=recovery',
        email_otp: '123456',
        hashed_token: '…',
        redirect_to: 'https://locanda.example',
        verification_type: 'recovery'
      }
    ]
  }
)
