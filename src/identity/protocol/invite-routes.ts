import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type { Metadata } from '#drizzle/tables/identity.ts'
import { GenerateLinkBody, InviteBody, RedirectQuery } from '#schemas/auth/requests.ts'
import { AuthUser, AuthUserLink } from '#schemas/auth/user.ts'
import { Ref } from '#schemas/common.ts'
import type { Transaction } from '#src/database/connect.ts'
import { route } from '../provider-route.ts'
import { AuthError, validationFailed } from '../errors.ts'
import { mergeMetadata, storableMetadata } from '../people/metadata.ts'
import { deleteTokens } from '../sign-in/one-time-tokens.ts'
import { presentUser } from '../people/presenters.ts'
import { requireStrongPassword } from '../sign-in/passwords.ts'
import { findUser, type User } from '../people/find-users.ts'
import { HANDED_OVER, resetToEmailIdentity } from '../people/revoke-access.ts'
import { DEFAULT_ROLE, withDefaultRole } from '../people/roles.ts'
import { lockUser } from '../people/people-locks.ts'
import { createUser, lockUserAndRights, updateUser } from '../people/users.ts'
import { record } from '../audit-record.ts'
import {
  EMAIL_CHANGE_KINDS, issueLink, linkTarget, requireAddress, requireMail, sendLink, type IssuedLink, type LinkTarget,
  type SentKind
} from './mail-flows.ts'

type LinkBody = Static<typeof GenerateLinkBody>

interface LinkRecipient {
  email: string
  user: User | undefined
  password_hash: string | undefined
  user_metadata: Metadata
  new_email: string | undefined
}

type PrepareUser = (tx: Transaction, recipient: LinkRecipient) => Promise<User>

const inviteRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { db, identity: { config, waitForListeners } } = app

  app.post('/invite', route({ access: 'admin', recentFactor: true }, 'authInvite', 'Invita una persona', {
    querystring: RedirectQuery, body: InviteBody, response: { 200: Ref(AuthUser) }
  }), async (request) => {
    const { body, query: { redirect_to } } = request
    requireMail(app)
    const email = requireAddress(body)
    const user_metadata = storableMetadata(body.data ?? {})
    const invited = await db.transaction(async (tx) => {
      const known = await findUser(tx, { email })
      const user = await invite(tx, { email, user: known, user_metadata })
      const sent = await sendLink(app, tx, user, 'invite', linkTarget(config, redirect_to, {}))
      const object = `user:${user.id}`
      await record(tx, request, 'invito', object)
      await record(tx, request, 'email', object, { kind: 'invite' })
      if (known) await record(tx, request, 'sessioni_revocate', object, HANDED_OVER)
      return sent
    })
    await waitForListeners()
    app.mail.deliver()
    return presentUser(invited)
  })

  app.post('/admin/generate_link', route(
    { access: 'admin', recentFactor: true }, 'authGenerateLink', 'Crea un collegamento senza spedirlo', {
      querystring: RedirectQuery, body: GenerateLinkBody, response: { 200: Ref(AuthUserLink) }
    }
  ), async (request) => {
    const { body, query } = request
    const target = linkTarget(config, query.redirect_to ?? body.redirect_to ?? body.redirectTo, {})
    const issued = await generateLink(request, body, target)
    await waitForListeners()
    return {
      ...presentUser(issued.user),
      action_link: issued.url,
      email_otp: issued.code,
      hashed_token: issued.link,
      verification_type: body.type,
      redirect_to: target.redirectTo
    }
  })
}
export default inviteRoutes

async function generateLink (request: FastifyRequest, body: LinkBody, target: LinkTarget): Promise<IssuedLink> {
  const { server: app } = request
  const { type } = body
  const email = requireAddress(body)
  const new_email = type.startsWith('email_change') ? requireAddress({ email: body.new_email }) : undefined
  const password = type === 'signup' ? requirePassword(body.password, email) : undefined
  const password_hash = password && await app.identity.passwords.hash(password)
  const user_metadata = storableMetadata(body.data ?? {})
  return await app.db.transaction(async (tx) => {
    const known = await findUser(tx, { email })
    const user = await RECIPIENTS[type](tx, { email, user: known, password_hash, user_metadata, new_email })
    const to = type === 'email_change_new' ? new_email : undefined
    const issued = await issueLink(app, tx, user, type, target, to)
    const object = `user:${user.id}`
    if (!known) await record(tx, request, 'utente_creato', object, { role: DEFAULT_ROLE })
    await record(tx, request, type === 'invite' ? 'invito' : 'email', object, { kind: type, sent: false })
    const isHandedOver = known && (type === 'invite' || type === 'signup')
    if (isHandedOver) await record(tx, request, 'sessioni_revocate', object, HANDED_OVER)
    return issued
  })
}

function requirePassword (password: string | undefined, email: string): string {
  if (!password) throw validationFailed('Signup requires a valid password')
  requireStrongPassword(password, email)
  return password
}

/** Finds, creates or prepares the account, for each type of link. */
const RECIPIENTS: Readonly<Record<LinkBody['type'] & SentKind, PrepareUser>> = {
  invite,
  async signup (tx, { email, user, password_hash, user_metadata }) {
    if (!user) return await createUser(tx, { email, password_hash, user_metadata, confirmed: false })
    const present = await lockUserAndRights(tx, user.id)
    if (present.email_confirmed_at !== null) throw new AuthError('email_exists')
    await resetToEmailIdentity(tx, present)
    const merged = mergeMetadata(user.user_metadata, user_metadata)
    return await updateUser(tx, user.id, { password_hash, user_metadata: merged })
  },
  magiclink: async (tx, { email, user, user_metadata }) =>
    user ?? (await createUser(tx, { email, user_metadata, confirmed: false })),
  recovery: async (_tx, { user }) => requireUser(user),
  email_change_current: prepareEmailChange,
  email_change_new: prepareEmailChange
}

/**
 * Invites a person. An earlier sign-up with the address may be a stranger's, so all access to the account ends before
 * it gets a role.
 */
async function invite (
  tx: Transaction, { email, user, user_metadata }: Pick<LinkRecipient, 'email' | 'user' | 'user_metadata'>
): Promise<User> {
  if (!user) return await createUser(tx, { email, user_metadata, confirmed: false, invited: true })
  const present = await lockUserAndRights(tx, user.id)
  if (present.email_confirmed_at !== null) throw new AuthError('email_exists')
  const { row: { app_metadata } } = await resetToEmailIdentity(tx, present)
  const { role, ...others } = app_metadata
  return await updateUser(tx, user.id, {
    app_metadata: withDefaultRole(role === 'pending' ? others : app_metadata),
    user_metadata: mergeMetadata(present.user_metadata, user_metadata),
    invited_at: new Date()
  }, present)
}

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
