import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { FactorChange, UserFactorParams } from '#schemas/auth/factor-requests.ts'
import { AuthFactor } from '#schemas/auth/factor.ts'
import { Passkey, UserPasskeyParams } from '#schemas/auth/passkey.ts'
import { UserParams } from '#schemas/auth/requests.ts'
import { Ref } from '#schemas/common.ts'
import type { Transaction } from '#src/database/connect.ts'
import { route } from '../provider-route.ts'
import { AuthError } from '../errors.ts'
import { getUser, withIdentities, type FactorRow, type User } from '../people/find-users.ts'
import { lockUser } from '../people/people-locks.ts'
import { presentFactor } from '../people/presenters.ts'
import { record } from '../audit-record.ts'
import { notify } from '../sign-in/account-mails.ts'
import { endPasskeySessions } from '../sign-in/person-sessions.ts'
import { parseUuid } from '../uuid.ts'
import { ofType, realFactors, recordRemoved, removeFactor, renameFactor, requireFactor } from './factor-store.ts'
import { listPasskeys, presentPasskey, removePasskey } from './webauthn/credentials.ts'

/** Routes for administrators, who manage the second factors and passkeys of any user, e.g. after the user lost them. */
const adminFactorRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { db, identity: { waitForListeners } } = app

  app.get('/admin/users/:user_id/factors', route(
    { access: 'admin' }, 'authListFactors', 'I secondi fattori di un utente', {
      params: UserParams, response: { 200: Type.Array(Ref(AuthFactor), { examples: [AuthFactor.examples] }) }
    }
  ), async ({ params }) => {
    const { factors } = await getUser(db, parseUuid(params.user_id, 'user_id'))
    return factors.map(presentFactor)
  })

  app.put('/admin/users/:user_id/factors/:factor_id', route(
    { access: 'admin', recentFactor: true }, 'authChangeFactor', 'Dà un nome a un secondo fattore di un utente', {
      params: UserFactorParams, body: FactorChange, response: { 200: Ref(AuthFactor) }
    }
  ), async (request) => {
    const { params, body: { friendly_name } } = request
    const userId = parseUuid(params.user_id, 'user_id')
    const id = parseUuid(params.factor_id, 'factor_id')
    return presentFactor(await db.transaction(async (tx) =>
      await renameFactor(tx, request, await lockPerson(tx, userId), id, friendly_name)))
  })

  app.delete('/admin/users/:user_id/factors/:factor_id', route(
    { access: 'admin', recentFactor: true }, 'authDeleteFactor', 'Rimuove un secondo fattore di un utente', {
      params: UserFactorParams, response: { 200: Ref(AuthFactor) }
    }
  ), async (request) => {
    const { params } = request
    const userId = parseUuid(params.user_id, 'user_id')
    return presentFactor(await removeFactorOf(request, userId, parseUuid(params.factor_id, 'factor_id')))
  })

  app.get('/admin/users/:user_id/passkeys', route(
    { access: 'admin' }, 'authListUserPasskeys', 'Le passkey di un utente', {
      params: UserParams, response: { 200: Type.Array(Ref(Passkey), { examples: [Passkey.examples] }) }
    }
  ), async ({ params }) => {
    const { id } = await getUser(db, parseUuid(params.user_id, 'user_id'))
    return (await listPasskeys(db, id)).map(presentPasskey)
  })

  app.delete('/admin/users/:user_id/passkeys/:passkey_id', route(
    { access: 'admin', recentFactor: true }, 'authDeleteUserPasskey', 'Elimina una passkey di un utente', {
      params: UserPasskeyParams, response: { 204: Type.Null() }
    }
  ), async (request, reply) => {
    const user = parseUuid(request.params.user_id, 'user_id')
    await removePasskeyOf(request, user, parseUuid(request.params.passkey_id, 'passkey_id'))
    app.mail.deliver()
    await waitForListeners()
    return await reply.code(204).send(null)
  })
}
export default adminFactorRoutes

async function removeFactorOf (request: FastifyRequest, userId: string, id: string): Promise<FactorRow> {
  const { server: app } = request
  const removed = await app.db.transaction(async (tx) => {
    const { factors, ...person } = await lockPerson(tx, userId)
    const factor = requireFactor(factors, id)
    // Recovery codes alone are not a second factor, so they are removed with the last other factor. Otherwise
    // a person without these codes could not sign in.
    const codes = ofType(factors, 'recovery_code')
    const isLast = realFactors(factors).every((each) => each.id === id)
    const toRemove = codes && isLast && codes.id !== id ? [factor, codes] : [factor]
    for (const each of toRemove) await removeFactor(tx, each)
    if (factor.status === 'verified') await notify(app, tx, person, 'factor_removed')
    for (const each of toRemove) await recordRemoved(tx, request, each, { status: each.status, user: userId })
    return factor
  })
  app.mail.deliver()
  await app.identity.waitForListeners()
  return removed
}

async function removePasskeyOf (request: FastifyRequest, user: string, id: string): Promise<void> {
  const { server: app } = request
  await app.db.transaction(async (tx) => {
    const person = await lockPerson(tx, user)
    await removePasskey(tx, user, id)
    const revoked = await endPasskeySessions(tx, user)
    await notify(app, tx, person, 'passkey_removed')
    await record(tx, request, 'passkey_eliminata', `passkey:${id}`, { user, revoked })
  })
}

async function lockPerson (tx: Transaction, id: string): Promise<User> {
  const row = await lockUser(tx, id)
  if (!row) throw new AuthError('user_not_found')
  return await withIdentities(tx, row)
}
