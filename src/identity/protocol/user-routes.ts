import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { eq } from 'drizzle-orm'
import { Nothing } from '#schemas/auth/responses.ts'
import { EmptyBody, IdentityParams, LogoutQuery, RedirectQuery, UserUpdate } from '#schemas/auth/requests.ts'
import { AuthUser } from '#schemas/auth/user.ts'
import { Ref } from '#schemas/common.ts'
import { sessions } from '#drizzle/tables/identity.ts'
import { stepError } from '#src/http/auth.ts'
import { route } from '../provider-route.ts'
import { AuthError, validationFailed } from '../errors.ts'
import { findUser, getUser, type User } from '../people/find-users.ts'
import { presentUser } from '../people/presenters.ts'
import { record } from '../audit-record.ts'
import { deleteSessions, endSessions, FRESH_MS, getSessionOwner } from '../sign-in/person-sessions.ts'
import { unlinkIdentity, updateUser, type UserChange } from '../people/users.ts'
import { parseUuid } from '../uuid.ts'
import { mergeMetadata, storableMetadata } from '../people/metadata.ts'
import { revokeKeys } from '../keys/key-store.ts'
import { deleteCodes } from '../sign-in/flow-states.ts'
import { deleteTokens, takeByCode } from '../sign-in/one-time-tokens.ts'
import { requireStrongPassword, type Turn } from '../sign-in/passwords.ts'
import { isStaff } from '../people/roles.ts'
import { linkTarget, requireAddress, requireMail, startEmailChange } from './mail-flows.ts'
import { admitMail, countCode, countMail, countNewAddress, countPasswordAttempt } from './request-limits.ts'

const SCOPES = ['global', 'local', 'others'] as const

const userRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { db, identity: { waitForListeners } } = app

  app.get('/user', {
    // Allowed during maintenance, because the official client calls this when it restores a session or gets a new one.
    ...route({ access: 'user', signIn: true }, 'authGetUser', 'Chi ha fatto l’accesso', {
      response: { 200: Ref(AuthUser) }
    })
  }, async ({ principal }) => presentUser(await getUser(db, principal!.userId!)))

  app.put('/user', route({ access: 'user', completes: 'password' }, 'authUpdateUser', 'Cambia il proprio account', {
    querystring: RedirectQuery, body: UserUpdate, response: { 200: Ref(AuthUser) }
  }), async (request, reply) =>
    presentUser(await changeOwnAccount(request, reply, request.body, request.query.redirect_to)))

  app.post('/logout', {
    // Allowed during maintenance, because a person who leaves a device must be able to sign out.
    ...route({ access: 'user', signIn: true }, 'authLogout', 'Esce: da qui, da altrove o da ogni dispositivo', {
      querystring: LogoutQuery, body: EmptyBody, response: { 204: Type.Null() }
    })
  }, async (request, reply) => {
    const scope = SCOPES.find((each) => each === (request.query.scope ?? 'global'))
    if (scope === undefined) throw validationFailed('scope must be global, local or others')
    const { userId, sessionId } = request.principal!
    await db.transaction(async (tx) => {
      await endSessions(tx, userId!, scope, sessionId)
      await record(tx, request, 'uscita', `user:${userId}`, { scope })
    })
    await waitForListeners()
    return await reply.code(204).send(null)
  })

  app.delete('/user/identities/:identity_id', route({ access: 'user' }, 'authUnlinkIdentity', 'Scollega un’identità', {
    params: IdentityParams, response: { 200: Nothing }
  }), async (request) => {
    const identity_id = parseUuid(request.params.identity_id, 'identity_id')
    await db.transaction(async (tx) => {
      const user = await getSessionOwner(tx, request.principal!)
      const revoked = await unlinkIdentity(tx, user, identity_id, request.principal!.sessionId)
      await record(tx, request, 'identita_scollegata', `user:${user.id}`, { identity_id, revoked })
    })
    await waitForListeners()
    return {}
  })
}
export default userRoutes

async function changeOwnAccount (
  request: FastifyRequest, reply: FastifyReply, body: UserUpdate, redirectTo: string | undefined
): Promise<User> {
  const { server: app, principal } = request
  const { db, identity: { config, waitForListeners } } = app
  const { sessionId, lacks } = principal!
  if (lacks !== undefined && body.password === undefined) throw stepError(lacks)
  const user = await getUser(db, principal!.userId!)
  if (body.app_metadata !== undefined) throw new AuthError('not_admin')
  if (body.phone) throw new AuthError('phone_provider_disabled')
  const target = linkTarget(config, redirectTo, body)
  const email = body.email && (await newAddress(reply, user, body.email))
  const password_hash = body.password === undefined ? undefined : await newPassword(request, reply, user, body)
  // The mail is counted last, so that a person whose change is refused can immediately try again.
  if (email) await admitMail(request, reply, 'email_change', user.email, email)

  const changed = await db.transaction(async (tx) => {
    if (email) await countMail(tx, reply, 'email_change', user.email, email)
    const present = await getSessionOwner(tx, principal!)
    // A new password also voids earlier mails, and a change of address, which a stranger may have started.
    if (password_hash) {
      await deleteTokens(tx, user.id)
      await deleteCodes(tx, user.id)
    }
    const values: UserChange = {
      ...(body.data && { user_metadata: storableMetadata(mergeMetadata(present.user_metadata, body.data)) }),
      ...(password_hash && { password_hash, new_email: null })
    }
    const keys = password_hash && body.revoca_chiavi ? await revokeKeys(tx, user.id) : 0
    if (password_hash) await deleteSessions(tx, user.id, 'others', sessionId)
    const result = Object.keys(values).length > 0 ? await updateUser(tx, user.id, values) : present
    const final = email ? await startEmailChange(app, tx, result, email, target) : result
    if (email) await record(tx, request, 'email', `user:${user.id}`, { kind: 'email_change' })
    if (password_hash) await record(tx, request, 'password_cambiata', `user:${user.id}`, { keys })
    return final
  })
  if (email) app.mail.deliver()
  if (password_hash) await waitForListeners()
  return changed
}

async function newAddress (reply: FastifyReply, user: User, email: string): Promise<string | undefined> {
  requireMail(reply.server)
  const address = requireAddress({ email })
  if (address === user.email) return undefined
  // A stranger could enter the address of a future colleague, who mistakes the mail for an invitation and confirms.
  if (!isStaff(user.app_metadata)) throw new AuthError('not_admin')
  // Otherwise a caller could find out which addresses have an account.
  await countNewAddress(reply, user.id)
  if (await findUser(reply.server.db, { email: address })) throw new AuthError('email_exists')
  return address
}

async function newPassword (
  request: FastifyRequest,
  reply: FastifyReply,
  user: User,
  { password = '', current_password: current, nonce }: UserUpdate
): Promise<string> {
  const { server: { db, identity: { passwords } }, principal } = request
  requireStrongPassword(password, user.email)
  // For a day a session needs no current password, because it may have begun with a recovery or an invitation.
  const [session] = await db.select({ created_at: sessions.created_at }).from(sessions)
    .where(eq(sessions.id, principal!.sessionId!))
  if (!session) throw new AuthError('session_not_found')
  const isFresh = Date.now() - session.created_at.getTime() < FRESH_MS
  // Sign-ins have precedence over a user who signed up without an invitation and has no role yet.
  const turn: Turn = { order: principal!.pending ? 'later' : 'first', reply }
  await sleep(await countPasswordAttempt(request, reply, 'password-change', user.email))
  if (current !== undefined) {
    if (!(await passwords.verify(user.password_hash, current, turn))) throw new AuthError('current_password_invalid')
  } else if (nonce) {
    if (!(await takeNonce(reply, user, nonce))) throw new AuthError('reauthentication_not_valid')
  } else if (!isFresh) {
    throw new AuthError('reauthentication_needed')
  }
  if (user.password_hash !== null && (await passwords.verify(user.password_hash, password, turn))) {
    throw new AuthError('same_password')
  }
  return await passwords.hash(password, turn)
}

/** Whether the code for a change of password is right. The code is single-use. */
async function takeNonce (reply: FastifyReply, user: User, code: string): Promise<boolean> {
  const { db, identity: { keys } } = reply.server
  await countCode(reply, user.email)
  const token = await db.transaction((tx) =>
    takeByCode(tx, keys, { to: { userId: user.id }, code, kinds: ['reauthentication'] })
  )
  return token?.sent_to === user.email
}
