import cookie from '@fastify/cookie'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { AuthErrorBody } from '#schemas/auth/errors.ts'
import { Passkey } from '#schemas/auth/passkey.ts'
import { AuthSession } from '#schemas/auth/session.ts'
import { AuthUserLink } from '#schemas/auth/user.ts'
import { Ref } from '#schemas/common.ts'
import emptyBody from '#src/http/empty-body.ts'
import adminFactorRoutes from '../factors/admin-factor-routes.ts'
import enrolRoutes from '../factors/enrol-routes.ts'
import recoveryCodeRoutes from '../factors/recovery-code-routes.ts'
import proofRoutes from '../factors/proof-routes.ts'
import passkeyRoutes, { passkeySignInRoutes } from '../factors/webauthn/passkey-routes.ts'
import adminRoutes from './admin-routes.ts'
import { renderAuthError } from './errors.ts'
import inviteRoutes from './invite-routes.ts'
import metaRoutes from './meta-routes.ts'
import notOfferedRoutes from './not-offered-routes.ts'
import recoverRoutes from './recover-routes.ts'
import signupRoutes from './signup-routes.ts'
import oauthRoutes from './oauth-routes.ts'
import tokenRoutes from './token-routes.ts'
import userRoutes from './user-routes.ts'
import verifyRoutes from './verify-routes.ts'

/**
 * The embedded identity provider with the protocol of Supabase Auth (paths, bodies, errors, codes), so that the
 * official clients work unchanged.
 */
const protocol: FastifyPluginAsyncTypebox = async (app) => {
  for (const schema of [AuthErrorBody, AuthSession, AuthUserLink, Passkey]) app.addSchema(schema)
  app.setErrorHandler(renderAuthError)
  app.setNotFoundHandler(app.refuseUnknown)
  await app.register(emptyBody)
  app.addHook('preValidation', dropNullFields)
  await app.register(cookie)
  app.addHook('onRoute', ({ schema }) => {
    if (schema) {
      schema.response = { ...(schema.response as object), '4xx': Ref(AuthErrorBody), '5xx': Ref(AuthErrorBody) }
    }
  })
  // Responses with tokens and personal data must not be cached.
  app.addHook('onRequest', async (_request, reply) => { reply.header('cache-control', 'no-store') })

  for (const routes of [
    metaRoutes, tokenRoutes, userRoutes, oauthRoutes, adminRoutes, notOfferedRoutes, enrolRoutes, proofRoutes,
    recoveryCodeRoutes, passkeyRoutes, passkeySignInRoutes, adminFactorRoutes, signupRoutes, recoverRoutes,
    verifyRoutes, inviteRoutes
  ]) await app.register(routes)
}
export default protocol

/** Treats a null field of a body as missing, because some clients send every field that they know. */
async function dropNullFields (request: FastifyRequest): Promise<void> {
  const { body } = request
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return
  const fields = body as Record<string, unknown>
  for (const [name, value] of Object.entries(fields)) if (value === null) delete fields[name]
}
