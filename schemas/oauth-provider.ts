import { Type, type Static } from '@sinclair/typebox'
import { Closed, OneOf } from './common.ts'

/* The sign-in providers of `OAUTH_PROVIDERS`. */

const Field = (description: string) => Type.String({ minLength: 1, description })
/** https anywhere, http on loopback only, without credentials. */
const Address = Type.String({ minLength: 1, format: 'safe-address' })

export const GITHUB = 'github'

const credentials = {
  client_id: Field('Id di questa installazione presso il provider'),
  client_secret: Field('Segreto che accompagna l’id'),
  scopes: Type.Optional(Field('Che cosa si chiede; senza, nome e indirizzo e-mail'))
}

/** An OpenID Connect provider. Discovery starts at its issuer. */
export const OpenidProvider = Closed({
  name: Type.String({
    minLength: 1,
    // Reserved for identities by e-mail and phone.
    pattern: `^(?!(email|phone|${GITHUB})$)[a-z][a-z0-9_-]{0,39}$`,
    description: 'Nome negli indirizzi e nelle identità, per esempio google'
  }),
  ...credentials,
  issuer: Address,
  response_mode: Type.Optional(
    OneOf(['query', 'form_post'], { description: 'form_post: la risposta arriva come modulo (Apple, con scopes)' })
  ),
  token_endpoint_auth_method: Type.Optional(
    OneOf(['client_secret_basic', 'client_secret_post'], {
      description: 'Come si mostra il segreto (RFC 7591); senza, come dicono i metadati del provider'
    })
  )
})
export type OpenidProvider = Static<typeof OpenidProvider>

/** GitHub, which is plain OAuth 2. The URLs are for GitHub Enterprise Server. */
export const GithubProvider = Closed({
  name: Type.Literal(GITHUB),
  ...credentials,
  authorization_endpoint: Type.Optional(Address),
  token_endpoint: Type.Optional(Address),
  userinfo_endpoint: Type.Optional(Address)
})
export type GithubProvider = Static<typeof GithubProvider>

export type OAuthProvider = OpenidProvider | GithubProvider
