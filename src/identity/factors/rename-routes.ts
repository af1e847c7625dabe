import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { FactorChange, FactorParams } from '#schemas/auth/factor-requests.ts'
import { AuthFactor } from '#schemas/auth/factor.ts'
import { Ref } from '#schemas/common.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { presentFactor } from '../people/present.ts'
import { getSessionOwner } from '../sign-in/sessions.ts'
import { parseUuid } from '../uuid.ts'
import { nameFactor, requireFactor } from './store.ts'

const tags = ['Provider di identità']

/** People give their own second factors names, as they do with passkeys. */
const renameRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { db, audit } = app

  app.route({
    method: 'PATCH',
    url: '/factors/:factor_id',
    config: { access: 'user' },
    schema: {
      operationId: 'authRenameFactor',
      tags,
      summary: 'Dà un nome a un proprio secondo fattore',
      params: FactorParams,
      body: FactorChange,
      response: { 200: Ref(AuthFactor) }
    },
    handler: async (request) => {
      const id = parseUuid(request.params.factor_id, 'factor_id')
      const { userId, sessionId } = request.principal!
      return presentFactor(await db.transaction(async (tx) => {
        const { factors } = await getSessionOwner(tx, { userId: userId!, sessionId: sessionId! })
        const factor = requireFactor(factors, id)
        const named = await nameFactor(tx, factors, factor, request.body.friendly_name)
        if (named === factor) return factor
        await audit.append(tx, {
          ...authorOf(request),
          action: 'utente_modificato',
          object: `user:${userId}`,
          details: { factor: id, fields: ['friendly_name'] }
        })
        return named
      }))
    }
  })
}
export default renameRoutes
