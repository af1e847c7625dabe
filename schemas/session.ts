import { Type, type Static } from '@sinclair/typebox'
import { Closed, Instant, NotEmpty, Nullable, Ref, Text } from './common.ts'
import { Uuid } from './auth/uuid.ts'

/** A sign-in of the caller on one device. */
export const Session = Closed(
  {
    id: Uuid,
    created_at: Instant,
    updated_at: Instant,
    user_agent: Nullable(Type.String()),
    ip: Nullable(Type.String()),
    /** Whether it is the session of this request. */
    current: Type.Boolean()
  },
  {
    $id: 'Sessione',
    examples: [
      {
        id: '0b7c8a7e-51c4-4f3e-8a54-0d7d0c9b5a11',
        created_at: '2026-11-21T09:30:00.000Z',
        updated_at: '2026-11-21T10:30:00.000Z',
        user_agent: 'Mozilla/5.0',
        ip: '192.0.2.7',
        current: true
      }
    ]
  }
)
export type Session = Static<typeof Session>
export const SessionList = Type.Array(Ref(Session))

/** An empty, optional body. */
export const NoBody = Closed({}, { examples: [{}] })

export const RevokeBody = Closed(
  {
    revoca_chiavi: Type.Optional(NotEmpty(
      Type.Boolean({ description: 'Revoca anche le chiavi API; sì, se non detto' })
    ))
  },
  { examples: [{ revoca_chiavi: true }] }
)

export const RevokeResponse = Closed(
  { success: Type.Boolean(), message: Type.String(), revoked: Type.Integer(), status: Type.Integer() },
  {
    examples: [{ success: true, message: '2 sessioni chiuse', revoked: 2, status: 200 }]
  }
)

export const UnlinkBody = Closed({ provider: Text(60, { minLength: 1 }) }, { examples: [{ provider: 'google' }] })
export const UnlinkResponse = Closed({ success: Type.Boolean(), message: Type.String(), status: Type.Integer() }, {
  examples: [{ success: true, message: 'Provider google scollegato', status: 200 }]
})
