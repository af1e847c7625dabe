import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import { or, sql } from 'drizzle-orm'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { users, type Metadata } from '#drizzle/tables/identity.ts'
import { AuthUserList, Nothing } from '#schemas/auth/responses.ts'
import { AdminUserBody, AdminUserChange, AdminUsersQuery, DeleteUserBody, UserParams } from '#schemas/auth/requests.ts'
import { AuthUser } from '#schemas/auth/user.ts'
import { Ref } from '#schemas/common.ts'
import type { AuditEntry } from '#src/services/audit/log.ts'
import { containing } from '#src/database/columns.ts'
import { route } from '../provider-route.ts'
import { removeAllProofs } from '../factors/factor-store.ts'
import { AUDIENCE } from '../tokens/machine-tokens.ts'
import { revokeKeys } from '../keys/key-store.ts'
import { deleteCodes } from '../sign-in/flow-states.ts'
import { deleteTokens } from '../sign-in/one-time-tokens.ts'
import { discardPicture } from '../routes/profile-pictures.ts'
import { presentUser } from '../people/presenters.ts'
import { record } from '../audit-record.ts'
import { deleteSessions } from '../sign-in/person-sessions.ts'
import { getUser, getUserOrDeleted, pageOfUsers, withIdentities, type User } from '../people/find-users.ts'
import { HANDED_OVER, resetToEmailIdentity } from '../people/revoke-access.ts'
import { hasPendingRole } from '../people/roles.ts'
import {
  createUser, deleteUser, lockUserAndRights, updateUser, type NewUser, type UserChange
} from '../people/users.ts'
import { parseUuid } from '../uuid.ts'
import { AuthError, validationFailed } from '../errors.ts'
import { randomBytes } from 'node:crypto'
import { isEmail } from '../people/email.ts'
import { mergeMetadata, storableMetadata } from '../people/metadata.ts'
import { isKnownHash, requireStrongPassword, type Passwords } from '../sign-in/passwords.ts'

const adminRoutes: FastifyPluginAsyncTypebox = async (app) => {
  app.get('/admin/users', route({ access: 'admin' }, 'authListUsers', 'Gli utenti, a pagine', {
    querystring: AdminUsersQuery, response: { 200: AuthUserList }
  }), async (request, reply) => await listUsers(request.query, reply))

  app.post('/admin/users', route({ access: 'admin', recentFactor: true }, 'authCreateUser', 'Crea un utente', {
    body: AdminUserBody, response: { 200: Ref(AuthUser) }
  }), async (request) => presentUser(await addUser(request, request.body)))

  app.get('/admin/users/:user_id', route({ access: 'admin' }, 'authReadUser', 'Un utente', {
    params: UserParams, response: { 200: Ref(AuthUser) }
  }), async ({ params }) => presentUser(await getUserOrDeleted(app.db, idOf(params))))

  app.put('/admin/users/:user_id', route(
    { access: 'admin', recentFactor: true }, 'authChangeUser', 'Cambia un utente', {
      params: UserParams, body: AdminUserChange, response: { 200: Ref(AuthUser) }
    }
  ), async (request) => presentUser(await changeUser(request, idOf(request.params), request.body)))

  app.delete('/admin/users/:user_id', route(
    { access: 'admin', recentFactor: true }, 'authDeleteUser', 'Elimina un utente', {
      params: UserParams, body: DeleteUserBody, response: { 200: Nothing }
    }
  ), async (request) => {
    const id = idOf(request.params)
    const soft = request.body.should_soft_delete === true
    await app.db.transaction(async (tx) => {
      await deleteUser(tx, id, soft)
      await discardPicture(tx, app.files, id)
      await app.eraseResponses(tx, { said: '^\\{"id":"([0-9a-f-]{36})"', names: [id] })
      await record(tx, request, 'utente_eliminato', `user:${id}`, { soft })
    })
    await app.identity.waitForListeners()
    return {}
  })
}
export default adminRoutes

async function listUsers (query: Static<typeof AdminUsersQuery>, reply: FastifyReply) {
  const { db, identity: { config } } = reply.server
  const { filter, sort } = query
  const page = pageOf(query)
  const pattern = containing(filter ?? '')
  const { users: found, total } = await pageOfUsers(db, {
    limit: page.size,
    offset: (page.number - 1) * page.size,
    where: filter
      ? or(sql`${users.email} ilike ${pattern}`, sql`${users.user_metadata}::text ilike ${pattern}`)
      : undefined,
    oldestFirst: isOldestFirst(sort)
  })
  reply.headers({
    'x-total-count': total, link: pageLinks(`${config.PUBLIC_URL}/auth/v1/admin/users`, page, total, { filter, sort })
  })
  return { users: found.map(presentUser), aud: AUDIENCE }
}

async function addUser (request: FastifyRequest, body: AdminUserBody): Promise<User> {
  const { db, identity: { passwords } } = request.server
  const account = await newUserOf(body, passwords)
  const { ban_duration } = body
  return await db.transaction(async (tx) => {
    const user = await createUser(tx, account)
    const changed =
      ban_duration === undefined ? user : await updateUser(tx, user.id, userChangeOf({ ban_duration }, user))
    await record(tx, request, 'utente_creato', `user:${user.id}`, { role: roleOf(user.app_metadata) })
    return changed
  })
}

async function changeUser (request: FastifyRequest, id: string, body: AdminUserChange): Promise<User> {
  const { server: app } = request
  const { db, identity: { passwords, waitForListeners } } = app
  const email = body.email ?? (await getUser(db, id)).email
  const { password_hash } = await newUserOf({ ...body, email }, passwords, false)
  const isNewPassword = password_hash !== undefined
  const changed = await db.transaction(async (tx) => {
    const locked = await lockUserAndRights(tx, id)
    // Someone who knew the old password may have requested mails.
    if (isNewPassword) await deleteTokens(tx, id)
    if (isNewPassword || (body.ban_duration ?? 'none') !== 'none') await deleteCodes(tx, id)
    const isHandedOver = isUnprovenSignUp(locked) && userChangeOf(body, locked).email_confirmed_at !== undefined
    const removed = body.rimuovi_secondo_fattore ? await removeAllProofs(app, tx, locked) : []
    const present = isHandedOver ? await withIdentities(tx, (await resetToEmailIdentity(tx, locked)).row) : locked
    const change = { ...userChangeOf(body, present), ...(isNewPassword ? { password_hash, new_email: null } : {}) }
    const user = await updateUser(tx, id, change, present)
    if (isNewPassword) {
      await deleteSessions(tx, id, 'global')
      await revokeKeys(tx, id)
    }
    await record(tx, request, 'utente_modificato', `user:${id}`, detailsOf(body, user))
    for (const { action, object, details } of removed) await record(tx, request, action, object, details)
    if (isHandedOver) await record(tx, request, 'sessioni_revocate', `user:${id}`, HANDED_OVER)
    return user
  })
  app.mail.deliver()
  await waitForListeners()
  return changed
}

/** Whether the address of a sign-up was never verified, so that the account's data may be a stranger's. */
function isUnprovenSignUp ({ email_confirmed_at, app_metadata }: User): boolean {
  return email_confirmed_at === null && hasPendingRole(app_metadata)
}

/** The changes for the audit log: the names of the known fields of the body, the new role and ban. */
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

const DEFAULT_SIZE = 50
const MAX_SIZE = 1000

interface Page { number: number, size: number }

/** The requested page. The official client sends both parameters, which are empty for the first page. */
function pageOf ({ page = '', per_page: size = '' }: { page?: string, per_page?: string }): Page {
  return { number: count(page, 'page', 1, 1_000_000), size: count(size, 'per_page', DEFAULT_SIZE, MAX_SIZE) }
}

/**
 * `Link` (RFC 8288) to the next and the last page of the same list. The official client reads the text after the first
 * `=`.
 * @param asked further query parameters
 */
function pageLinks (
  path: string, { number, size }: Page, total: number, asked: Readonly<Record<string, string | undefined>>
): string {
  const last = Math.max(1, Math.ceil(total / size))
  const same = Object.entries(asked)
    .map(([name, value]) => value ? `&${name}=${encodeURIComponent(value)}` : '').join('')
  const link = (page: number, rel: string) => `<${path}?page=${page}&per_page=${size}${same}>; rel="${rel}"`
  return [...(number < last ? [link(number + 1, 'next')] : []), link(last, 'last')].join(', ')
}

/** Whether the oldest users are first. The protocol sorts only by `created_at` (`asc` or `desc`). */
function isOldestFirst (sort = ''): boolean {
  const [, field = '', direction = 'desc'] = /^([^ ]*)(?: (.*))?$/s.exec(sort) ?? []
  if (sort !== '' && field !== 'created_at') throw badSort(`bad field for sort '${field}'`)
  const order = direction.toLowerCase()
  if (order !== 'asc' && order !== 'desc') {
    throw badSort(`bad direction for sort '${direction}', only 'asc' and 'desc' allowed`)
  }
  return order === 'asc'
}

function badSort (problem: string): AuthError {
  return validationFailed(`Bad Sort Parameters: ${problem}`)
}

function count (text: string, name: string, fallback: number, max: number): number {
  if (text === '') return fallback
  if (!/^\d+$/.test(text)) throw validationFailed(`Bad Pagination Parameters: ${name}`)
  return Math.min(Number(text) || fallback, max)
}

const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 }
const GO_DURATION = /^(\d{1,9}(\.\d{1,3})?(h|ms|m|s))+$/
const NIL = '00000000-0000-0000-0000-000000000000'
/** The maximum length of a ban, so that its end is a valid date. */
const MAX_BAN_MS = 200 * 365 * 86_400_000

/** The account that an administrator describes. With `withPassword` it gets a random password if it has none. */
async function newUserOf (body: AdminUserBody, passwords: Passwords, withPassword = true): Promise<NewUser> {
  const { email, password, password_hash: imported, phone } = body
  if (phone) throw new AuthError('phone_provider_disabled')
  requireOnlyRole(body)
  if (!email || !isEmail(email)) throw validationFailed('Unable to validate email address: invalid format')
  if (imported !== undefined && !isKnownHash(imported)) {
    throw validationFailed('Password hash is of an unknown kind, or too expensive')
  }
  if (password !== undefined && imported !== undefined) {
    throw validationFailed('Only a password or a password hash should be provided')
  }
  if (password !== undefined) requireStrongPassword(password, email)
  const metadata = metadataOf(body)
  const chosen =
    password ?? (withPassword && imported === undefined ? randomBytes(48).toString('base64url') : undefined)
  return {
    id: chosenIdOf(body),
    email,
    password_hash: chosen === undefined ? imported : await passwords.hash(chosen),
    confirmed: body.email_confirm === true,
    ...metadata
  }
}

/** All users have the same role and audience, because rights are in `app_metadata`. */
function requireOnlyRole ({ role, aud }: AdminUserBody): void {
  if (role && role !== AUDIENCE) {
    const message = `role can only be ${AUDIENCE}: rights are in app_metadata.role`
    throw validationFailed(message)
  }
  if (aud && aud !== AUDIENCE) throw validationFailed(`aud can only be ${AUDIENCE}`)
}

function chosenIdOf ({ id }: AdminUserBody): string | undefined {
  if (id === NIL) throw validationFailed('ID cannot be a nil uuid')
  return id?.toLowerCase()
}

function metadataOf ({ app_metadata, user_metadata }: AdminUserBody): Pick<NewUser, 'app_metadata' | 'user_metadata'> {
  return {
    app_metadata: app_metadata && storableMetadata(app_metadata, 'app'),
    user_metadata: user_metadata && storableMetadata(user_metadata)
  }
}

/** The change that an administrator requests. Metadata are merged: a null value removes its key. */
function userChangeOf (body: AdminUserBody, user: User): UserChange {
  const { email, email_confirm: confirm, app_metadata, user_metadata, ban_duration: ban } = body
  return {
    ...(email === undefined ? {} : { email }),
    ...(confirm === true ? { email_confirmed_at: user.email_confirmed_at ?? new Date() } : {}),
    ...(app_metadata === undefined
      ? {}
      : { app_metadata: storableMetadata(mergeMetadata(user.app_metadata, app_metadata), 'app') }),
    ...(user_metadata === undefined
      ? {}
      : { user_metadata: storableMetadata(mergeMetadata(user.user_metadata, user_metadata)) }),
    ...(ban === undefined ? {} : { banned_until: ban === 'none' ? null : new Date(Date.now() + durationMs(ban)) })
  }
}

/** Parses a Go duration (`24h`, `1h30m`) into milliseconds. */
function durationMs (text: string): number {
  if (!GO_DURATION.test(text)) throw validationFailed('invalid format for ban duration')
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s)/g)]
  return Math.min(MAX_BAN_MS, parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * UNITS[unit!]!, 0))
}
