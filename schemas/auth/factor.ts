import { Type, type Static } from '@sinclair/typebox'
import { Closed, Instant, OneOf } from '#schemas/common.ts'
import { Uuid } from './uuid.ts'

/** An app with a shared secret (RFC 6238), a device with a key (WebAuthn), and a set of single-use recovery codes. */
export const FACTOR_TYPES = ['totp', 'webauthn', 'recovery_code'] as const
export type FactorType = typeof FACTOR_TYPES[number]

export const FACTOR_STATUSES = ['unverified', 'verified'] as const

/** Assurance level of a session: one factor, or two. */
export type AssuranceLevel = 'aal1' | 'aal2'

/** A factor in the format of Supabase Auth (`internal/models/factor.go`). */
export const AuthFactor = Closed({
  id: Uuid,
  friendly_name: Type.Optional(Type.String({ examples: ['Telefono di Anna'] })),
  /** An external provider may have other types. */
  factor_type: Type.String({ examples: ['totp'] }),
  status: OneOf(FACTOR_STATUSES, { examples: ['verified'] }),
  created_at: Instant,
  updated_at: Instant,
  last_challenged_at: Type.Optional(Instant)
}, {
  $id: 'FattoreAuth',
  examples: [{
    id: '0b7c8a7e-51c4-4f3e-8a54-0d7d0c9b5a11',
    friendly_name: 'Telefono di Anna',
    factor_type: 'totp',
    status: 'verified',
    created_at: '2026-11-21T09:30:00.000Z',
    updated_at: '2026-11-21T09:30:00.000Z'
  }]
})
export type AuthFactor = Static<typeof AuthFactor>
