import { Type, type Static } from '@sinclair/typebox'
import { Closed, Instant, Open } from '#schemas/common.ts'
import { UserParams } from './requests.ts'
import { Uuid } from './uuid.ts'

/** The purpose of a passkey challenge. */
export const CEREMONIES = ['registration', 'authentication'] as const

const ID = '3f1f4f0a-9a0c-4a55-8d61-6f0c8b7a1e20'
const expires_at = Type.Integer({ description: 'Secondi dall’epoca', examples: [1_795_257_000] })

/** A credential as browsers serialize it (`PublicKeyCredential.toJSON`). The library validates it. */
export const DeviceResponse = Type.Unsafe<Record<string, unknown>>(Open({
  id: Type.String({ maxLength: 2000 }),
  rawId: Type.String({ maxLength: 2000 }),
  type: Type.String({ maxLength: 40 }),
  response: Open({})
}))
const answer = { id: 'AbCd', rawId: 'AbCd', type: 'public-key', response: {} }

export const PasskeyBody = Open(
  { challenge_id: Type.String({ maxLength: 60 }), credential: DeviceResponse },
  { examples: [{ challenge_id: ID, credential: answer }] }
)

/** The options of `navigator.credentials.create` and `get`, as JSON. */
export const DeviceOptions = Type.Unsafe<object>(
  Open({}, { examples: [{ challenge: 'AbCd', rpId: 'locanda.example' }] })
)

export const PasskeyOptions = Closed({ challenge_id: Uuid, options: DeviceOptions, expires_at })

export const PasskeyParams = Closed({
  passkey_id: Type.String({ maxLength: 60, description: 'L’id della passkey, un UUID: è nell’elenco' })
})
export const UserPasskeyParams = Closed({
  ...UserParams.properties,
  ...PasskeyParams.properties
})
export const PasskeyUpdate = Open(
  { friendly_name: Type.String({ minLength: 1, maxLength: 120, pattern: '^[^\\u0000]*$' }) },
  { examples: [{ friendly_name: 'Portatile' }] }
)

export const Passkey = Closed({
  id: Uuid,
  friendly_name: Type.Optional(Type.String({ examples: ['Portatile'] })),
  created_at: Instant,
  last_used_at: Type.Optional(Instant)
}, {
  $id: 'PasskeyAuth',
  examples: [{ id: ID, friendly_name: 'Portatile', created_at: '2026-11-21T09:30:00.000Z' }]
})
export type Passkey = Static<typeof Passkey>
