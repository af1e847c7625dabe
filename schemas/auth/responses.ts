import { Type, type Static } from '@sinclair/typebox'
import { Closed, Ref } from '#schemas/common.ts'
import { AuthSession } from './session.ts'
import { AuthUser } from './user.ts'

/** A response without content is an empty object, because clients parse every response. */
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
    saml_enabled: Type.Boolean(),
    saml_private_key_next_configured: Type.Boolean(),
    passkeys_enabled: Type.Boolean()
  },
  {
    examples: [
      {
        external: { email: true, phone: false },
        disable_signup: true,
        mailer_autoconfirm: false,
        phone_autoconfirm: false,
        sms_provider: '',
        saml_enabled: false,
        saml_private_key_next_configured: false,
        passkeys_enabled: true
      }
    ]
  }
)
export type Settings = Static<typeof Settings>

const Words = Type.Array(Type.String())

/** The parts of OpenID Connect that the provider has. */
export const OFFERED = {
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  grant_types_supported: ['authorization_code', 'refresh_token'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['ES256'],
  token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
  code_challenge_methods_supported: ['S256', 'plain'],
  scopes_supported: ['openid', 'profile', 'email', 'phone']
}

/** OpenID Connect Discovery and RFC 8414: other services find the issuer and its keys here. */
export const Discovery = Closed({
  issuer: Type.String(),
  authorization_endpoint: Type.String(),
  token_endpoint: Type.String(),
  userinfo_endpoint: Type.String(),
  jwks_uri: Type.String(),
  response_types_supported: Words,
  response_modes_supported: Words,
  grant_types_supported: Words,
  subject_types_supported: Words,
  id_token_signing_alg_values_supported: Words,
  token_endpoint_auth_methods_supported: Words,
  code_challenge_methods_supported: Words,
  scopes_supported: Words,
  claims_supported: Words
}, {
  examples: [{
    issuer: 'https://locanda.example/auth/v1',
    authorization_endpoint: 'https://locanda.example/auth/v1/oauth/authorize',
    token_endpoint: 'https://locanda.example/auth/v1/oauth/token',
    userinfo_endpoint: 'https://locanda.example/auth/v1/oauth/userinfo',
    jwks_uri: 'https://locanda.example/auth/v1/.well-known/jwks.json',
    ...OFFERED,
    claims_supported: ['sub', 'aud', 'iss', 'exp', 'iat']
  }]
})
export type Discovery = Static<typeof Discovery>

export const ProviderHealth = Closed({ version: Type.String(), name: Type.String(), description: Type.String() }, {
  examples: [{ version: '0.1.0', name: 'Locanda', description: 'Locanda, con il protocollo di Supabase Auth' }]
})

/** The URL that the browser must open. */
export const Location = Closed(
  { url: Type.String() },
  { examples: [{ url: 'https://accounts.example/authorize?client_id=…' }] }
)

/** One of the two addresses of a change is confirmed, and the other is not yet. */
const EmailChangePending = Closed({ msg: Type.String(), code: Type.String() }, {
  examples: [{ msg: 'Confirmation link accepted. Please proceed to confirm link sent to the other email', code: '200' }]
})

/** The response to a verification by mail: a session, or a request to confirm the other address, too. */
export const VerifyResponse = Type.Unsafe<AuthSession | Static<typeof EmailChangePending>>({
  anyOf: [{ $ref: 'SessioneAuth#' }, EmailChangePending],
  examples: [...AuthSession.examples, ...EmailChangePending.examples]
})
