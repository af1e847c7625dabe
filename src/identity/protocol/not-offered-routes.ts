import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { HTTPMethods } from 'fastify'
import type { Access } from '#src/http/auth.ts'
import { AuthError, type AuthErrorCode } from '../errors.ts'

type Row = [
  methods: readonly HTTPMethods[],
  urls: readonly string[],
  access: Access,
  code: AuthErrorCode,
  message?: string
]

const CUSTOM_PROVIDERS = 'Custom OAuth providers are disabled'

/** What Supabase Auth has and this provider has not, with the error of a server that has it turned off. */
const NOT_OFFERED: readonly Row[] = [
  [['POST'], ['/sso', '/sso/saml/acs'], 'public', 'saml_provider_disabled'],
  [['GET'], ['/sso/saml/metadata'], 'public', 'saml_provider_disabled'],
  [['GET', 'POST'], ['/admin/sso/providers'], 'admin', 'saml_provider_disabled'],
  [['GET', 'PUT', 'DELETE'], ['/admin/sso/providers/:id'], 'admin', 'saml_provider_disabled'],

  [['GET'], ['/.well-known/oauth-authorization-server'], 'public', 'feature_disabled'],
  [['GET', 'POST'], ['/oauth/*'], 'public', 'feature_disabled'],
  [['GET', 'DELETE'], ['/user/oauth/grants'], 'user', 'feature_disabled'],
  [['GET', 'POST'], ['/admin/oauth/clients'], 'admin', 'feature_disabled'],
  [['GET', 'PUT', 'DELETE'], ['/admin/oauth/clients/:id'], 'admin', 'feature_disabled'],
  [['POST'], ['/admin/oauth/clients/:id/regenerate_secret'], 'admin', 'feature_disabled'],
  [['GET'], ['/admin/audit'], 'admin', 'feature_disabled', 'The audit log is read at /api/v1/audit'],
  [['GET', 'POST'], ['/admin/custom-providers'], 'admin', 'feature_disabled', CUSTOM_PROVIDERS],
  [['GET', 'PUT', 'DELETE'], ['/admin/custom-providers/:id'], 'admin', 'feature_disabled', CUSTOM_PROVIDERS]
]

const notOfferedRoutes: FastifyPluginAsyncTypebox = async (app) => {
  for (const [methods, urls, access, code, message] of NOT_OFFERED) {
    const refuse = async () => { throw new AuthError(code, { message }) }
    for (const [method, url] of methods.flatMap((method) => urls.map((url) => [method, url] as const))) {
      app.route({
        method,
        url,
        exposeHeadRoute: false,
        config: { access },
        schema: { hide: true },
        // Before the body is read: it may be of any type.
        preParsing: refuse,
        handler: refuse
      })
    }
  }
}
export default notOfferedRoutes
