import { Type } from '@sinclair/typebox'
import { Closed, OneOf, Open } from '#schemas/common.ts'
import { FACTOR_TYPES } from './factor.ts'
import { DeviceResponse, DeviceOptions } from './passkey.ts'
import { UserParams } from './requests.ts'
import { Uuid } from './uuid.ts'

/* Requests and responses about second factors. */

const factorType = OneOf(FACTOR_TYPES, { examples: ['totp'] })
const friendlyName = Type.String({ examples: ['Telefono di Anna'] })
const ID = '0b7c8a7e-51c4-4f3e-8a54-0d7d0c9b5a11'
const CODES = { id: ID, type: 'recovery_code', friendly_name: 'Recovery codes', total: 10 }
/** Text without NUL, which PostgreSQL cannot store. Clients send null for a missing one. */
const name = (maxLength: number) =>
  Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength, pattern: '^[^\\u0000]*$' }))

export const FactorParams = Closed({
  factor_id: Type.String({ maxLength: 60, description: 'L’id del secondo fattore, un UUID: in `factors` dell’utente' })
})
/** Not part of the protocol. */
export const FactorRemoval = Open({
  rimuovi_codici: Type.Optional(Type.Boolean({
    description: 'Con l’ultimo secondo fattore elimina insieme i codici di recupero, che da soli non restano'
  }))
})
export const UserFactorParams = Closed({
  ...UserParams.properties,
  ...FactorParams.properties
})

export const FactorChange = Open({ friendly_name: name(100) }, { examples: [{ friendly_name: 'Telefono di Anna' }] })

export const EnrolBody = Open(
  {
    factor_type: Type.String({ maxLength: 40, description: '`totp` o `webauthn`' }),
    friendly_name: name(100),
    issuer: name(64)
  },
  { examples: [{ factor_type: 'totp', friendly_name: 'Telefono di Anna' }] }
)

export const FactorVerifyBody = Open(
  {
    challenge_id: Type.String({ maxLength: 60 }),
    code: Type.Optional(Type.String({ maxLength: 20 })),
    webauthn: Type.Optional(Open({ type: Type.String({ maxLength: 20 }), credential_response: DeviceResponse }))
  },
  { examples: [{ challenge_id: ID, code: '123456' }] }
)

export const RecoveryCodesBody = Open({ friendly_name: name(100) }, { examples: [{}] })

export const RecoveryVerifyBody = Open(
  { code: Type.String({ maxLength: 100 }) },
  { examples: [{ code: 'K4M9-X7QP-2AB8-HT3Z' }] }
)

/* Responses. */

export const EnrolledFactor = Closed({
  id: Uuid,
  type: factorType,
  friendly_name: Type.Optional(friendlyName),
  totp: Type.Optional(Closed({
    qr_code: Type.String({ description: 'Immagine SVG del codice QR' }),
    secret: Type.String({ description: 'Il segreto in base32, mostrato solo ora' }),
    uri: Type.String()
  }))
}, {
  examples: [{
    id: ID,
    type: 'totp',
    friendly_name: 'Telefono di Anna',
    totp: { qr_code: '<svg …>', secret: 'GEZDGNBV…', uri: 'otpauth://totp/Locanda:anna%40example.org?secret=GEZDGNBV…' }
  }]
})

export const FactorChallenge = Closed(
  {
    id: Uuid,
    type: factorType,
    expires_at: Type.Integer({ description: 'Secondi dall’epoca' }),
    webauthn: Type.Optional(Closed({
      type: OneOf(['create', 'request'], { examples: ['request'] }),
      credential_options: Closed({ publicKey: DeviceOptions })
    }))
  },
  { examples: [{ id: ID, type: 'totp', expires_at: 1_795_257_000 }] }
)

export const RemovedFactor = Closed({ id: Uuid }, { examples: [{ id: ID }] })

export const RecoveryStatus = Closed(
  { id: Uuid, type: factorType, total: Type.Integer(), remaining: Type.Integer() },
  { examples: [{ id: ID, type: 'recovery_code', total: 10, remaining: 7 }] }
)

export const RecoveryCodes = Closed(
  {
    id: Uuid,
    type: factorType,
    friendly_name: Type.Optional(friendlyName),
    total: Type.Integer(),
    codes: Type.Array(Type.String(), { description: 'Mostrati solo ora' })
  },
  { examples: [{ ...CODES, codes: ['k4m9x7qp2ab6ht3z'] }] }
)
