import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Discovery, Jwks, OFFERED, ProviderHealth, Settings } from '#schemas/auth/responses.ts'
import { route } from '../provider-route.ts'
import type { Config } from '#src/config/config.ts'
import { VERSION } from '#src/lib/version.ts'
import { relyingParty } from '../factors/webauthn/relying-party.ts'

const CACHED = 'public, max-age=600'

/** The providers that Supabase Auth knows by name. Clients check for each of them whether it is enabled. */
const PROVIDERS = [
  'anonymous_users', 'apple', 'azure', 'bitbucket', 'discord', 'email', 'facebook', 'figma', 'fly', 'github', 'gitlab',
  'google', 'kakao', 'keycloak', 'linkedin', 'linkedin_oidc', 'notion', 'phone', 'slack', 'slack_oidc', 'snapchat',
  'spotify', 'twitch', 'twitter', 'workos', 'zoom'
]

const CLAIMS = [
  'sub', 'aud', 'iss', 'exp', 'iat', 'auth_time', 'nonce', 'email', 'email_verified', 'phone_number',
  'phone_number_verified', 'name', 'picture', 'preferred_username', 'updated_at'
]

const HEALTH = { version: VERSION, name: 'Locanda', description: 'Locanda, con il protocollo di Supabase Auth' }

const metaRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { config, signer: { issuer, signingKeys } } = app.identity
  const settings = settingsOf(config)
  const discovery = discoveryOf(issuer)

  app.get('/settings', route({ access: 'public' }, 'authSettings', 'Che cosa offre il provider', {
    response: { 200: Settings }
  }), async () => settings)

  app.get('/health', route({ access: 'public' }, 'authHealth', 'Il provider risponde', {
    response: { 200: ProviderHealth }
  }), async () => HEALTH)

  app.get('/.well-known/openid-configuration', route(
    { access: 'public' }, 'authDiscovery', 'Chi firma i token, e dove sono le chiavi (OpenID Connect Discovery)', {
      response: { 200: Discovery }
    }
  ), async (_request, reply) => {
    reply.header('cache-control', CACHED)
    return discovery
  })

  app.get('/.well-known/jwks.json', route(
    { access: 'public' }, 'authJwks', 'Le chiavi pubbliche dei token (RFC 7517)', { response: { 200: Jwks } }
  ), async (_request, reply) => {
    reply.header('cache-control', CACHED)
    return { keys: await signingKeys.jwks() }
  })
}
export default metaRoutes

function settingsOf (config: Config): Settings {
  return {
    external: {
      ...Object.fromEntries(PROVIDERS.map((name) => [name, false])),
      email: true,
      ...Object.fromEntries(config.OAUTH_PROVIDERS.map(({ name }) => [name, true]))
    },
    disable_signup: !config.SIGNUP_ENABLED,
    mailer_autoconfirm: false,
    phone_autoconfirm: false,
    sms_provider: '',
    saml_enabled: false,
    saml_private_key_next_configured: false,
    passkeys_enabled: relyingParty(config) !== undefined
  }
}

/** This server is not an OAuth server, but the document requires the URLs of one. */
function discoveryOf (issuer: string): Discovery {
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    userinfo_endpoint: `${issuer}/oauth/userinfo`,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    ...OFFERED,
    claims_supported: CLAIMS
  }
}
