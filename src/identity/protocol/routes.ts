import cookie from '@fastify/cookie'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { AuthErrorBody } from '#schemas/auth/errors.ts'
import { Passkey } from '#schemas/auth/passkey.ts'
import { AuthSession } from '#schemas/auth/session.ts'
import { AuthUserLink } from '#schemas/auth/user.ts'
import { Ref } from '#schemas/common.ts'
import noBody from '#src/http/no-body.ts'
import adminFactorRoutes from '../factors/admin-routes.ts'
import enrolRoutes from '../factors/enrol-routes.ts'
import renameRoutes from '../factors/rename-routes.ts'
import recoveryCodeRoutes from '../factors/recovery-routes.ts'
import factorRoutes from '../factors/verify-routes.ts'
import passkeyAdminRoutes from '../factors/webauthn/passkey-admin-routes.ts'
import passkeyRoutes from '../factors/webauthn/passkey-routes.ts'
import passkeySignInRoutes from '../factors/webauthn/passkey-sign-in-routes.ts'
import adminRoutes from './admin-routes.ts'
import { renderAuthError } from './errors.ts'
import inviteRoutes from './invite-routes.ts'
import { oauthClients } from '../oauth/clients.ts'
import type { IdentityOptions } from '../options.ts'
import { mailFlows } from './mail-flows.ts'
import metaRoutes from './meta-routes.ts'
import notOfferedRoutes from './not-offered-routes.ts'
import nullFields from './null-fields.ts'
import recoverRoutes from './recover-routes.ts'
import signupRoutes from './signup-routes.ts'
import oauthRoutes from './oauth-routes.ts'
import tokenRoutes from './token-routes.ts'
import userRoutes from './user-routes.ts'
import verifyRoutes from './verify-routes.ts'

/**
 * The embedded identity provider, in the protocol of Supabase Auth: its paths, bodies, errors and codes, so that the
 * official clients need not know the difference.
 */
const provider: FastifyPluginAsyncTypebox<IdentityOptions> = async (app, { config, keys }) => {
  // Not the options of this plugin: they have the prefix, too.
  const options = { config, keys, flows: mailFlows(app, { config, keys }), clients: oauthClients(config) }
  for (const schema of [AuthErrorBody, AuthSession, AuthUserLink, Passkey]) app.addSchema(schema)
  app.setErrorHandler(renderAuthError)
  app.setNotFoundHandler(app.refuseUnknown)
  await app.register(noBody)
  await app.register(nullFields)
  await app.register(cookie)
  app.addHook('onRoute', ({ schema }) => {
    if (schema) {
      schema.response = { ...(schema.response as object), '4xx': Ref(AuthErrorBody), '5xx': Ref(AuthErrorBody) }
    }
  })
  // These answers have tokens and personal data.
  app.addHook('onRequest', async (_request, reply) => { reply.header('cache-control', 'no-store') })

  await app.register(metaRoutes, options)
  await app.register(tokenRoutes, options)
  await app.register(userRoutes, options)
  await app.register(oauthRoutes, options)
  await app.register(adminRoutes, options)
  await app.register(notOfferedRoutes)
  for (const ofFactors of [enrolRoutes, factorRoutes, recoveryCodeRoutes, passkeyRoutes, passkeySignInRoutes]) {
    await app.register(ofFactors, options)
  }
  for (const more of [renameRoutes, adminFactorRoutes, passkeyAdminRoutes]) await app.register(more)
  for (const mailRoutes of [signupRoutes, recoverRoutes, verifyRoutes, inviteRoutes]) {
    await app.register(mailRoutes, options)
  }
}
export default provider
