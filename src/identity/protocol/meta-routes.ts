import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Jwks, ProviderHealth, Settings } from '#schemas/auth/answers.ts'
import { VERSION } from '#src/lib/version.ts'
import { relyingParty } from '../factors/webauthn/relying-party.ts'
import type { ProtocolOptions } from './options.ts'

const tags = ['Provider di identità']

/** What a client asks before a person signs in. */
const metaRoutes: FastifyPluginAsyncTypebox<ProtocolOptions> = async (app, { config }) => {
  const settings: Settings = {
    external: {
      email: true,
      phone: false,
      ...Object.fromEntries(config.OAUTH_PROVIDERS.map(({ name }) => [name, true]))
    },
    disable_signup: !config.SIGNUP_ENABLED,
    mailer_autoconfirm: false,
    phone_autoconfirm: false,
    sms_provider: '',
    saml_enabled: false,
    passkeys_enabled: relyingParty(config) !== undefined
  }

  const health = {
    version: VERSION,
    name: 'Locanda',
    description: 'Locanda, con il protocollo di Supabase Auth'
  }

  app.route({
    method: 'GET',
    url: '/settings',
    config: { access: 'public' },
    schema: { operationId: 'authSettings', tags, summary: 'Che cosa offre il provider', response: { 200: Settings } },
    handler: async () => settings
  })

  app.route({
    method: 'GET',
    url: '/health',
    config: { access: 'public' },
    schema: { operationId: 'authHealth', tags, summary: 'Il provider risponde', response: { 200: ProviderHealth } },
    handler: async () => health
  })

  app.route({
    method: 'GET',
    url: '/.well-known/jwks.json',
    config: { access: 'public' },
    schema: {
      operationId: 'authJwks',
      tags,
      summary: 'Le chiavi pubbliche dei token (RFC 7517)',
      response: { 200: Jwks }
    },
    handler: async (_request, reply) => {
      reply.header('cache-control', 'public, max-age=600')
      return { keys: await app.identity.signer.signingKeys.jwks() }
    }
  })
}
export default metaRoutes
