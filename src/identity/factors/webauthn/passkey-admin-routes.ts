import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { Passkey, UserPasskeyParams } from '#schemas/auth/passkey.ts'
import { UserParams } from '#schemas/auth/requests.ts'
import { Ref } from '#schemas/common.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { AuthError } from '../../errors.ts'
import { getUser } from '../../people/find-users.ts'
import { lockUser } from '../../people/locks.ts'
import { notify } from '../../sign-in/notices.ts'
import { endPasskeySessions } from '../../sign-in/sessions.ts'
import { parseUuid } from '../../uuid.ts'
import { listPasskeys, presentPasskey, removePasskey } from './credentials.ts'

const tags = ['Provider di identità']

/** Passkeys of others, for administrators. */
const passkeyAdminRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { db, audit, identity: { waitForListeners } } = app

  app.route({
    method: 'GET',
    url: '/admin/users/:user_id/passkeys',
    config: { access: 'admin' },
    schema: {
      operationId: 'authListUserPasskeys',
      tags,
      summary: 'Le passkey di un utente',
      params: UserParams,
      response: { 200: Type.Array(Ref(Passkey), { examples: [Passkey.examples] }) }
    },
    handler: async ({ params }) => {
      const { id } = await getUser(db, parseUuid(params.user_id, 'user_id'))
      return (await listPasskeys(db, id)).map(presentPasskey)
    }
  })

  app.route({
    method: 'DELETE',
    url: '/admin/users/:user_id/passkeys/:passkey_id',
    config: { access: 'admin', recentFactor: true },
    schema: {
      operationId: 'authDeleteUserPasskey',
      tags,
      summary: 'Elimina una passkey di un utente',
      params: UserPasskeyParams,
      response: { 204: Type.Null() }
    },
    handler: async (request, reply) => {
      const user = parseUuid(request.params.user_id, 'user_id')
      const id = parseUuid(request.params.passkey_id, 'passkey_id')
      await db.transaction(async (tx) => {
        const row = await lockUser(tx, user)
        if (!row) throw new AuthError('user_not_found')
        await removePasskey(tx, user, id)
        const revoked = await endPasskeySessions(tx, user)
        await notify(app, tx, row, 'passkey_removed')
        await audit.append(tx, {
          ...authorOf(request), action: 'passkey_eliminata', object: `passkey:${id}`, details: { user, revoked }
        })
      })
      app.mail.deliver()
      await waitForListeners()
      return await reply.code(204).send(null)
    }
  })
}
export default passkeyAdminRoutes
