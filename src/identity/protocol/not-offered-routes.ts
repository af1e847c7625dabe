import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Access } from '#src/http/auth.ts'
import { AuthError, type AuthErrorCode } from '../errors.ts'

type Row = [
  methods: readonly ('get' | 'post' | 'put' | 'delete')[],
  urls: readonly string[],
  access: Access,
  code: AuthErrorCode,
  message?: string
]

const CUSTOM_PROVIDERS = 'Custom OAuth providers are disabled'

/** Features of Supabase Auth that this provider lacks, with the errors of Supabase when the feature is off. */
const NOT_OFFERED: readonly Row[] = [
  [['post'], ['/sso', '/sso/saml/acs'], 'public', 'saml_provider_disabled'],
  [['get'], ['/sso/saml/metadata'], 'public', 'saml_provider_disabled'],
  [['get', 'post'], ['/admin/sso/providers'], 'admin', 'saml_provider_disabled'],
  [['get', 'put', 'delete'], ['/admin/sso/providers/:id'], 'admin', 'saml_provider_disabled'],

  [['get'], ['/.well-known/oauth-authorization-server'], 'public', 'feature_disabled'],
  [['get', 'post'], ['/oauth/*'], 'public', 'feature_disabled'],
  [['get', 'delete'], ['/user/oauth/grants'], 'user', 'feature_disabled'],
  [['get', 'post'], ['/admin/oauth/clients'], 'admin', 'feature_disabled'],
  [['get', 'put', 'delete'], ['/admin/oauth/clients/:id'], 'admin', 'feature_disabled'],
  [['post'], ['/admin/oauth/clients/:id/regenerate_secret'], 'admin', 'feature_disabled'],
  [['get'], ['/admin/audit'], 'admin', 'feature_disabled', 'The audit log is read at /api/v1/audit'],
  [['get', 'post'], ['/admin/custom-providers'], 'admin', 'feature_disabled', CUSTOM_PROVIDERS],
  [['get', 'put', 'delete'], ['/admin/custom-providers/:id'], 'admin', 'feature_disabled', CUSTOM_PROVIDERS]
]

const notOfferedRoutes: FastifyPluginAsyncTypebox = async (app) => {
  for (const [methods, urls, access, code, message] of NOT_OFFERED) {
    const refuse = async () => { throw new AuthError(code, { message }) }
    for (const [method, url] of methods.flatMap((method) => urls.map((url) => [method, url] as const))) {
      // Responds before the body is parsed, because the body may have any type.
      const options = { exposeHeadRoute: false, config: { access }, schema: { hide: true }, preParsing: refuse }
      app[method](url, options, refuse)
    }
  }
}
export default notOfferedRoutes
