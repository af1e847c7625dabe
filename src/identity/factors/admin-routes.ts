import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { FactorChange, UserFactorParams } from '#schemas/auth/factor-requests.ts'
import { AuthFactor } from '#schemas/auth/factor.ts'
import { UserParams } from '#schemas/auth/requests.ts'
import { Ref } from '#schemas/common.ts'
import { authorOf } from '#src/services/audit/log.ts'
import type { Transaction } from '#src/database/connect.ts'
import { AuthError } from '../errors.ts'
import { getUser, withIdentities, type User } from '../people/find-users.ts'
import { lockUser } from '../people/locks.ts'
import { presentFactor } from '../people/present.ts'
import { notify } from '../sign-in/notices.ts'
import { parseUuid } from '../uuid.ts'
import { nameFactor, ofType, realFactors, removeFactor, requireFactor } from './store.ts'

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
    method: 'PUT',
    url: '/admin/users/:user_id/factors/:factor_id',
    config: { access: 'admin', recentFactor: true },
    schema: {
      operationId: 'authChangeFactor',
      tags,
      summary: 'Dà un nome a un secondo fattore di un utente',
      params: UserFactorParams,
      body: FactorChange,
      response: { 200: Ref(AuthFactor) }
    },
    handler: async (request) => {
      const userId = parseUuid(request.params.user_id, 'user_id')
      const id = parseUuid(request.params.factor_id, 'factor_id')
      return presentFactor(await db.transaction(async (tx) => {
        const { factors } = await lockPerson(tx, userId)
        const factor = requireFactor(factors, id)
        const renamed = await nameFactor(tx, factors, factor, request.body.friendly_name)
        if (renamed === factor) return factor
        await audit.append(tx, {
          ...authorOf(request),
          action: 'utente_modificato',
          object: `user:${userId}`,
          details: { factor: id, fields: ['friendly_name'] }
        })
        return renamed
      }))
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
        const { factors, ...person } = await lockPerson(tx, userId)
        const factor = requireFactor(factors, id)
        // Codes alone are no second factor: they would keep out a person who has lost them, too.
        const codes = ofType(factors, 'recovery_code')
        const isLast = realFactors(factors).every((each) => each.id === id)
        const gone = codes && isLast && codes.id !== id ? [factor, codes] : [factor]
        for (const each of gone) await removeFactor(tx, each)
        if (factor.status === 'verified') await notify(app, tx, person, 'factor_removed')
        for (const { id, factor_type: type, status } of gone) {
          await audit.append(tx, {
            ...authorOf(request),
            action: 'fattore_rimosso',
            object: `factor:${id}`,
            details: { type, status, user: userId }
          })
        }
        return factor
      })
      app.mail.deliver()
      await waitForListeners()
      return presentFactor(removed)
    }
  })
}
export default adminFactorRoutes

/** @throws AuthError user_not_found */
async function lockPerson (tx: Transaction, id: string): Promise<User> {
  const row = await lockUser(tx, id)
  if (!row) throw new AuthError('user_not_found')
  return await withIdentities(tx, row)
}
