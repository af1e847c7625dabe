import { Type, type Static } from '@sinclair/typebox'
import { Closed, Ref } from '#schemas/common.ts'
import { AuthUser } from './user.ts'

/** What is answered where there is nothing to say: an empty object, for clients that parse every answer. */
export const Nothing = Closed({}, { examples: [{}] })

export const AuthUserList = Closed({
  users: Type.Array(Ref(AuthUser)),
  aud: Type.String({ examples: ['authenticated'] })
})

export const Jwks = Closed(
  {
    keys: Type.Array(
      Closed({
        kty: Type.String(),
        crv: Type.String(),
        x: Type.String(),
        y: Type.String(),
        kid: Type.String(),
        alg: Type.String(),
        use: Type.String(),
        key_ops: Type.Array(Type.String())
      })
    )
  },
  {
    examples: [
      {
        keys: [
          {
            kty: 'EC',
            crv: 'P-256',
            x: 'f83OJ3D2…',
            y: 'x_FEzRu9…',
            kid: '5d0c…',
            alg: 'ES256',
            use: 'sig',
            key_ops: ['verify']
          }
        ]
      }
    ]
  }
)

export const Settings = Closed(
  {
    external: Type.Record(Type.String(), Type.Boolean()),
    disable_signup: Type.Boolean(),
    mailer_autoconfirm: Type.Boolean(),
    phone_autoconfirm: Type.Boolean(),
    sms_provider: Type.String(),
    saml_enabled: Type.Boolean()
  },
  {
    examples: [
      {
        external: { email: true, phone: false },
        disable_signup: true,
        mailer_autoconfirm: false,
        phone_autoconfirm: false,
        sms_provider: '',
        saml_enabled: false
      }
    ]
  }
)
export type Settings = Static<typeof Settings>

export const ProviderHealth = Closed({ version: Type.String(), name: Type.String(), description: Type.String() }, {
  examples: [{ version: '0.1.0', name: 'Locanda', description: 'Locanda, con il protocollo di Supabase Auth' }]
})

/** Where a browser is to be led. */
export const Location = Closed(
  { url: Type.String() },
  { examples: [{ url: 'https://accounts.example/authorize?client_id=…' }] }
)

/** The first half of a change of address is proven. */
export const HalfWay = Closed({ msg: Type.String(), code: Type.String() }, {
  examples: [{ msg: 'Confirmation link accepted. Please proceed to confirm link sent to the other email', code: '200' }]
})
