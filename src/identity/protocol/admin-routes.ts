import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { or, sql } from 'drizzle-orm'
import { users, type Metadata } from '#drizzle/tables/identity.ts'
import { AuthUserList, Nothing } from '#schemas/auth/answers.ts'
import { AdminUserBody, AdminUserChange, AdminUsersQuery, DeleteUserBody, UserParams } from '#schemas/auth/requests.ts'
import { AuthUser } from '#schemas/auth/user.ts'
import { Ref } from '#schemas/common.ts'
import type { AuditEntry } from '#src/services/audit/log.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { containing } from '#src/database/columns.ts'
import { removeAllProofs } from '../factors/remove-all.ts'
import { AUDIENCE } from '../tokens/access-token.ts'
import { revokeKeys } from '../keys/key-store.ts'
import { deleteCodes } from '../sign-in/flow-states.ts'
import { deleteTokens } from '../sign-in/one-time-tokens.ts'
import { discardPicture } from '../people/pictures.ts'
import { presentUser } from '../people/present.ts'
import { deleteSessions } from '../sign-in/sessions.ts'
import { getUser, withIdentities, type User } from '../people/find-users.ts'
import { HANDED_OVER, startAnew } from '../people/revoke-access.ts'
import { isPending } from '../people/roles.ts'
import { pageOfUsers } from '../people/user-lists.ts'
import { createUser, deleteUser, lockUserAndRights, updateUser } from '../people/users.ts'
import { newUserOf, userChangeOf } from './admin-user.ts'
import { parseUuid } from '../uuid.ts'
import { isOldestFirst, pageLinks, pageOf } from './pages.ts'
import type { ProtocolOptions } from './options.ts'

const tags = ['Provider di identità']

/** The administration of users. */
const adminRoutes: FastifyPluginAsyncTypebox<ProtocolOptions> = async (app, { config }) => {
  const { db, identity: { passwords, waitForListeners } } = app

  app.route({
    method: 'GET',
    url: '/admin/users',
    config: { access: 'admin' },
    schema: {
      operationId: 'authListUsers',
      tags,
      summary: 'Gli utenti, a pagine',
      querystring: AdminUsersQuery,
      response: { 200: AuthUserList }
    },
    handler: async (request, reply) => {
      const { filter, sort } = request.query
      const page = pageOf(request.query)
      const pattern = containing(filter ?? '')
      const where = filter
        ? or(sql`${users.email} ilike ${pattern}`, sql`${users.user_metadata}::text ilike ${pattern}`)
        : undefined
      const offset = (page.number - 1) * page.size
      const { users: found, total } = await pageOfUsers(db, {
        limit: page.size,
        offset,
        where,
        oldestFirst: isOldestFirst(sort)
      })
      reply.headers({
        'x-total-count': total,
        link: pageLinks(`${config.PUBLIC_URL}/auth/v1/admin/users`, page, total, { filter, sort })
      })
      return { users: found.map(presentUser), aud: AUDIENCE }
    }
  })

  app.route({
    method: 'POST',
    url: '/admin/users',
    config: { access: 'admin', recentFactor: true },
    schema: {
      operationId: 'authCreateUser',
      tags,
      summary: 'Crea un utente',
      body: AdminUserBody,
      response: { 200: Ref(AuthUser) }
    },
    handler: async (request) => {
      const account = await newUserOf(request.body, passwords)
      return presentUser(
        await db.transaction(async (tx) => {
          const user = await createUser(tx, account)
          const { ban_duration } = request.body
          const changed =
            ban_duration === undefined ? user : await updateUser(tx, user.id, userChangeOf({ ban_duration }, user))
          await app.audit.append(tx, {
            ...authorOf(request),
            action: 'utente_creato',
            object: `user:${user.id}`,
            details: { role: roleOf(user.app_metadata) }
          })
          return changed
        })
      )
    }
  })

  app.route({
    method: 'GET',
    url: '/admin/users/:user_id',
    config: { access: 'admin' },
    schema: {
      operationId: 'authReadUser',
      tags,
      summary: 'Un utente',
      params: UserParams,
      response: { 200: Ref(AuthUser) }
    },
    handler: async ({ params }) => presentUser(await getUser(db, idOf(params)))
  })

  app.route({
    method: 'PUT',
    url: '/admin/users/:user_id',
    config: { access: 'admin', recentFactor: true },
    schema: {
      operationId: 'authChangeUser',
      tags,
      summary: 'Cambia un utente',
      params: UserParams,
      body: AdminUserChange,
      response: { 200: Ref(AuthUser) }
    },
    handler: async (request) => {
      const id = idOf(request.params)
      const { body } = request
      const { password_hash } = await newUserOf(
        { ...body, email: body.email ?? (await getUser(db, id)).email },
        passwords,
        false
      )
      const changed = await db.transaction(async (tx) => {
        const locked = await lockUserAndRights(tx, id)
        const isNewPassword = password_hash !== undefined
        // A person who knew only the old password is signed out, and the mails that they have asked for are void.
        if (isNewPassword) await deleteTokens(tx, id)
        if (isNewPassword || (body.ban_duration ?? 'none') !== 'none') await deleteCodes(tx, id)
        const isHandedOver = isUnprovenSignUp(locked) && userChangeOf(body, locked).email_confirmed_at !== undefined
        const removed = body.rimuovi_secondo_fattore ? await removeAllProofs(app, tx, locked) : []
        const present = isHandedOver ? await withIdentities(tx, (await startAnew(tx, locked)).row) : locked
        const change = { ...userChangeOf(body, present), ...(isNewPassword ? { password_hash, new_email: null } : {}) }
        const user = await updateUser(tx, id, change, present)
        if (isNewPassword) {
          await deleteSessions(tx, id, 'global')
          await revokeKeys(tx, id)
        }
        await app.audit.append(tx, {
          ...authorOf(request),
          action: 'utente_modificato',
          object: `user:${id}`,
          details: detailsOf(body, user)
        })
        for (const entry of removed) await app.audit.append(tx, { ...authorOf(request), ...entry })
        if (isHandedOver) {
          await app.audit.append(tx, {
            ...authorOf(request),
            action: 'sessioni_revocate',
            object: `user:${id}`,
            details: HANDED_OVER
          })
        }
        return user
      })
      app.mail.deliver()
      await waitForListeners()
      return presentUser(changed)
    }
  })

  app.route({
    method: 'DELETE',
    url: '/admin/users/:user_id',
    config: { access: 'admin', recentFactor: true },
    schema: {
      operationId: 'authDeleteUser',
      tags,
      summary: 'Elimina un utente',
      params: UserParams,
      body: DeleteUserBody,
      response: { 200: Nothing }
    },
    handler: async (request) => {
      const id = idOf(request.params)
      const soft = request.body.should_soft_delete === true
      await db.transaction(async (tx) => {
        await deleteUser(tx, id, soft)
        await discardPicture(tx, app.storage, id)
        await app.forgetAnswers(tx, { said: '^\\{"id":"([0-9a-f-]{36})"', names: [id] })
        await app.audit.append(tx, {
          ...authorOf(request),
          action: 'utente_eliminato',
          object: `user:${id}`,
          details: { soft }
        })
      })
      await waitForListeners()
      return {}
    }
  })
}
export default adminRoutes

/** Nobody has proven the address that somebody signed up with: what they have set may be a stranger's. */
function isUnprovenSignUp ({ email_confirmed_at, app_metadata }: User): boolean {
  return email_confirmed_at === null && isPending(app_metadata)
}

/**
 * What was changed, for the audit log: the names of the known fields (a body may have others), and the rights as they
 * are now.
 */
function detailsOf (body: AdminUserChange, { app_metadata, banned_until }: User): AuditEntry['details'] {
  return {
    fields: Object.keys(body).filter((name) => Object.hasOwn(AdminUserChange.properties, name)).sort(),
    ...(body.app_metadata === undefined ? {} : { role: roleOf(app_metadata) }),
    ...(body.ban_duration === undefined ? {} : { banned_until: banned_until?.toISOString() ?? null })
  }
}

function roleOf ({ role = '', roles }: Metadata): string {
  return [role, ...Array.isArray(roles) ? roles : []].filter((each) => typeof each === 'string').join(' ').trim()
}

function idOf ({ user_id }: { user_id: string }): string {
  return parseUuid(user_id, 'user_id')
}
