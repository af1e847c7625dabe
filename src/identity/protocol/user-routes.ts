import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { Nothing } from '#schemas/auth/answers.ts'
import { EmptyBody, IdentityParams, LogoutQuery, RedirectQuery, UserUpdate } from '#schemas/auth/requests.ts'
import { AuthUser } from '#schemas/auth/user.ts'
import { Ref } from '#schemas/common.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { AuthError } from '../errors.ts'
import { getUser } from '../people/find-users.ts'
import { presentUser } from '../people/present.ts'
import { endSessions, getSessionOwner } from '../sign-in/sessions.ts'
import { unlinkIdentity } from '../people/unlink.ts'
import { parseUuid } from '../uuid.ts'
import { ownAccountUpdate } from './own-account.ts'
import type { ProtocolOptions } from './options.ts'

const tags = ['Provider di identità']
const SCOPES = ['global', 'local', 'others'] as const

/** What a person who is signed in does with their own account. */
const userRoutes: FastifyPluginAsyncTypebox<ProtocolOptions> = async (app, options) => {
  const { db, identity: { waitForListeners } } = app
  const updateOwnAccount = ownAccountUpdate(app, options)

  app.route({
    method: 'GET',
    url: '/user',
    // The official client asks it while it restores a session or takes over a new one.
    config: { access: 'user', signIn: true },
    schema: { operationId: 'authGetUser', tags, summary: 'Chi ha fatto l’accesso', response: { 200: Ref(AuthUser) } },
    handler: async ({ principal }) => presentUser(await getUser(db, principal!.userId!))
  })

  app.route({
    method: 'PUT',
    url: '/user',
    config: { access: 'user' },
    schema: {
      operationId: 'authUpdateUser',
      tags,
      summary: 'Cambia il proprio account',
      querystring: RedirectQuery,
      body: UserUpdate,
      response: { 200: Ref(AuthUser) }
    },
    handler: async (request, reply) =>
      presentUser(await updateOwnAccount(request, reply, request.body, request.query.redirect_to))
  })

  app.route({
    method: 'POST',
    url: '/logout',
    // A person who leaves a device must be able to sign out also during a maintenance.
    config: { access: 'user', signIn: true },
    schema: {
      operationId: 'authLogout',
      tags,
      summary: 'Esce: da qui, da altrove o da ogni dispositivo',
      querystring: LogoutQuery,
      body: EmptyBody,
      response: { 204: Type.Null() }
    },
    handler: async (request, reply) => {
      const scope = SCOPES.find((each) => each === (request.query.scope ?? 'global'))
      if (scope === undefined) {
        throw new AuthError('validation_failed', { message: 'scope must be global, local or others' })
      }
      const { userId, sessionId } = request.principal!
      await db.transaction(async (tx) => {
        await endSessions(tx, userId!, scope, sessionId)
        await app.audit.append(tx, {
          ...authorOf(request),
          action: 'uscita',
          object: `user:${userId}`,
          details: { scope }
        })
      })
      await waitForListeners()
      return await reply.code(204).send(null)
    }
  })

  app.route({
    method: 'DELETE',
    url: '/user/identities/:identity_id',
    config: { access: 'user' },
    schema: {
      operationId: 'authUnlinkIdentity',
      tags,
      summary: 'Scollega un’identità',
      params: IdentityParams,
      response: { 200: Nothing }
    },
    handler: async (request) => {
      const { principal, params } = request
      const identity_id = parseUuid(params.identity_id, 'identity_id')
      await db.transaction(async (tx) => {
        const { userId, sessionId } = principal!
        const user = await getSessionOwner(tx, { userId: userId!, sessionId: sessionId! })
        const revoked = await unlinkIdentity(tx, user, identity_id, sessionId)
        await app.audit.append(tx, {
          ...authorOf(request),
          action: 'identita_scollegata',
          object: `user:${userId}`,
          details: { identity_id, revoked }
        })
      })
      await waitForListeners()
      return {}
    }
  })
}
export default userRoutes
