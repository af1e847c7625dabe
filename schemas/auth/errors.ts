import { Type, type Static } from '@sinclair/typebox'
import { Closed } from '#schemas/common.ts'

/**
 * The body of an error of the identity provider. Clients that send `X-Supabase-Api-Version` read `{code, message}`, the
 * others `{code: <status>, error_code, msg}`.
 */
export const AuthErrorBody = Closed(
  {
    code: Type.Unsafe<string | number>({ type: ['string', 'integer'] }),
    message: Type.Optional(Type.String()),
    error_code: Type.Optional(Type.String()),
    msg: Type.Optional(Type.String()),
    error_id: Type.Optional(Type.String()),
    weak_password: Type.Optional(Closed({ reasons: Type.Array(Type.String()) }))
  },
  { $id: 'ErroreAuth', examples: [{ code: 400, error_code: 'invalid_credentials', msg: 'Invalid login credentials' }] }
)
export type AuthErrorBody = Static<typeof AuthErrorBody>
