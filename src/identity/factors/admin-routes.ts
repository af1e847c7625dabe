import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { UserFactorParams } from '#schemas/auth/factor-requests.ts'
import { AuthFactor } from '#schemas/auth/factor.ts'
import { UserParams } from '#schemas/auth/requests.ts'
import { Ref } from '#schemas/common.ts'
import { authorOf } from '#src/plugins/audit/log.ts'
import { AuthError } from '../errors.ts'
import { getUser, withIdentities } from '../people/find-users.ts'
import { lockUser } from '../people/locks.ts'
import { presentFactor } from '../people/present.ts'
import { parseUuid } from '../uuid.ts'
import { ofType, realFactors, removeFactor } from './store.ts'

const tags = ['Provider di identità']

/** Second factors of others: an administrator helps a person who has lost theirs. */
const adminFactorRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { db, audit, identity: { waitForListeners } } = app

  app.route({
    method: 'GET',
    url: '/admin/users/:user_id/factors',
    config: { access: 'admin' },
    schema: {
      operationId: 'authListFactors',
      tags,
      summary: 'I secondi fattori di un utente',
      params: UserParams,
      response: { 200: Type.Array(Ref(AuthFactor), { examples: [AuthFactor.examples] }) }
    },
    handler: async ({ params }) => {
      const { factors } = await getUser(db, parseUuid(params.user_id, 'user_id'))
      return factors.map(presentFactor)
    }
  })

  app.route({
    method: 'DELETE',
    url: '/admin/users/:user_id/factors/:factor_id',
    config: { access: 'admin', recentFactor: true },
    schema: {
      operationId: 'authDeleteFactor',
      tags,
      summary: 'Rimuove un secondo fattore di un utente',
      params: UserFactorParams,
      response: { 200: Ref(AuthFactor) }
    },
    handler: async (request) => {
      const userId = parseUuid(request.params.user_id, 'user_id')
      const id = parseUuid(request.params.factor_id, 'factor_id')
      const removed = await db.transaction(async (tx) => {
        const row = await lockUser(tx, userId)
        if (!row) throw new AuthError('user_not_found')
        const { factors } = await withIdentities(tx, row)
        const factor = factors.find((each) => each.id === id)
        if (!factor) throw new AuthError('mfa_factor_not_found')
        await removeFactor(tx, factor)
        // Codes alone are no second factor: they would keep out a person who has lost them, too.
        const codes = ofType(factors, 'recovery_code')
        const isLast = realFactors(factors).every((each) => each.id === id)
        if (codes && isLast && codes.id !== id) await removeFactor(tx, codes)
        await audit.append(tx, {
          ...authorOf(request),
          action: 'fattore_rimosso',
          object: `factor:${id}`,
          details: { type: factor.factor_type, status: factor.status, user: userId }
        })
        return factor
      })
      await waitForListeners()
      return presentFactor(removed)
    }
  })
}
export default adminFactorRoutes
