import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { Metadata } from '#drizzle/tables/identity.ts'
import { GenerateLinkBody, InviteBody, RedirectQuery } from '#schemas/auth/requests.ts'
import { AuthUser, AuthUserLink } from '#schemas/auth/user.ts'
import { Ref } from '#schemas/common.ts'
import type { Transaction } from '#src/database/connect.ts'
import { AuthError } from '../errors.ts'
import { mergeMetadata, storableMetadata } from '../people/metadata.ts'
import { deleteTokens } from '../sign-in/one-time-tokens.ts'
import { presentUser } from '../people/present.ts'
import { requireStrongPassword } from '../sign-in/passwords.ts'
import { findUser, type User } from '../people/find-users.ts'
import { HANDED_OVER, startAnew } from '../people/revoke-access.ts'
import { lockUser } from '../people/locks.ts'
import { createUser, lockUserAndRights, updateUser } from '../people/users.ts'
import { EMAIL_CHANGE_KINDS } from './email-change.ts'
import { requireAddress, type SentKind } from './mail-flows.ts'
import type { ProtocolOptions } from './options.ts'

const tags = ['Provider di identità']

type LinkType = Static<typeof GenerateLinkBody>['type']

/** The person for whom an administrator asks for a link. */
interface LinkRecipient {
  email: string
  user: User | undefined
  password_hash: string | undefined
  user_metadata: Metadata
  new_email: string | undefined
}

type PrepareUser = (tx: Transaction, recipient: LinkRecipient) => Promise<User>

/** Invitations by administrators: by mail, or with a link that they hand over themselves. */
const inviteRoutes: FastifyPluginAsyncTypebox<ProtocolOptions> = async (app, { flows }) => {
  const { db, identity: { passwords, waitForListeners } } = app

  app.route({
    method: 'POST',
    url: '/invite',
    config: { access: 'admin', recentFactor: true },
    schema: {
      operationId: 'authInvite',
      tags,
      summary: 'Invita una persona',
      querystring: RedirectQuery,
      body: InviteBody,
      response: { 200: Ref(AuthUser) }
    },
    handler: async (request) => {
      const {
        body,
        query: { redirect_to }
      } = request
      flows.requireMail()
      const email = requireAddress(body)
      const user_metadata = storableMetadata(body.data ?? {})
      const invited = await db.transaction(async (tx) => {
        const known = await findUser(tx, { email })
        const user = await invite(tx, { email, user: known, user_metadata })
        const sent = await flows.send(tx, user, 'invite', flows.linkTarget(redirect_to, {}))
        await flows.audit(tx, request, 'invito', user)
        await flows.audit(tx, request, 'email', user, { kind: 'invite' })
        if (known) await flows.audit(tx, request, 'sessioni_revocate', user, HANDED_OVER)
        return sent
      })
      await waitForListeners()
      app.mail.deliver()
      return presentUser(invited)
    }
  })

  app.route({
    method: 'POST',
    url: '/admin/generate_link',
    config: { access: 'admin', recentFactor: true },
    schema: {
      operationId: 'authGenerateLink',
      tags,
      summary: 'Crea un collegamento senza spedirlo',
      querystring: RedirectQuery,
      body: GenerateLinkBody,
      response: { 200: Ref(AuthUserLink) }
    },
    handler: async (request) => {
      const { body, query } = request
      const { type } = body
      const email = requireAddress(body)
      const new_email = type.startsWith('email_change') ? requireAddress({ email: body.new_email }) : undefined
      const password_hash = type === 'signup' ? await newPassword(body.password, email) : undefined
      const user_metadata = storableMetadata(body.data ?? {})
      const target = flows.linkTarget(query.redirect_to ?? body.redirect_to ?? body.redirectTo, {})
      const issued = await db.transaction(async (tx) => {
        const known = await findUser(tx, { email })
        const user = await RECIPIENTS[type](tx, { email, user: known, password_hash, user_metadata, new_email })
        const issued = await flows.issue(tx, user, type, target, type === 'email_change_new' ? new_email : undefined)
        if (!known) await flows.audit(tx, request, 'utente_creato', user, { role: '' })
        await flows.audit(tx, request, type === 'invite' ? 'invito' : 'email', user, { kind: type, sent: false })
        if (known && (type === 'invite' || type === 'signup')) {
          await flows.audit(tx, request, 'sessioni_revocate', user, HANDED_OVER)
        }
        return issued
      })
      await waitForListeners()
      return {
        ...presentUser(issued.user),
        action_link: issued.url,
        email_otp: issued.code,
        hashed_token: issued.link,
        verification_type: type,
        redirect_to: target.redirectTo
      }
    }
  })

  async function newPassword (password: string | undefined, email: string): Promise<string> {
    if (!password) throw new AuthError('validation_failed', { message: 'Signup requires a valid password' })
    requireStrongPassword(password, email)
    return await passwords.hash(password)
  }
}
export default inviteRoutes

/**
 * Finds, creates or prepares the account that a link of each type is for.
 * @throws AuthError user_not_found, email_exists
 */
const RECIPIENTS: Readonly<Record<LinkType & SentKind, PrepareUser>> = {
  invite,
  async signup (tx, { email, user, password_hash, user_metadata }) {
    if (!user) return await createUser(tx, { email, password_hash, user_metadata, confirmed: false })
    const present = await lockUserAndRights(tx, user.id)
    if (present.email_confirmed_at !== null) throw new AuthError('email_exists')
    await startAnew(tx, present)
    return await updateUser(tx, user.id, {
      password_hash,
      user_metadata: mergeMetadata(user.user_metadata, user_metadata)
    })
  },
  magiclink: async (tx, { email, user, user_metadata }) =>
    user ?? (await createUser(tx, { email, user_metadata, confirmed: false })),
  recovery: async (_tx, { user }) => requireUser(user),
  email_change_current: prepareEmailChange,
  email_change_new: prepareEmailChange
}

/**
 * Invites a person. An earlier sign-up with the address may have been a stranger's: all access to the account ends
 * before it has a role.
 */
async function invite (
  tx: Transaction,
  { email, user, user_metadata }: Pick<LinkRecipient, 'email' | 'user' | 'user_metadata'>
): Promise<User> {
  if (!user) return await createUser(tx, { email, user_metadata, confirmed: false, invited: true })
  const present = await lockUserAndRights(tx, user.id)
  if (present.email_confirmed_at !== null) throw new AuthError('email_exists')
  const { row: { app_metadata } } = await startAnew(tx, present)
  const { role, ...others } = app_metadata
  return await updateUser(tx, user.id, {
    app_metadata: role === 'pending' ? others : app_metadata,
    user_metadata,
    invited_at: new Date()
  }, present)
}

/** Starts a change of address; an unfinished change to a third address is given up. */
async function prepareEmailChange (tx: Transaction, { user, new_email = '' }: LinkRecipient): Promise<User> {
  const { id, email, new_email: pending } = requireUser(await lockUser(tx, requireUser(user).id))
  if (new_email === email || await findUser(tx, { email: new_email })) throw new AuthError('email_exists')
  if (new_email !== pending) await deleteTokens(tx, id, EMAIL_CHANGE_KINDS)
  return await updateUser(tx, id, { new_email })
}

function requireUser<T> (user: T | undefined): T {
  if (!user) throw new AuthError('user_not_found')
  return user
}
