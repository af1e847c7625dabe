import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { eq } from 'drizzle-orm'
import { sessions } from '#drizzle/tables/identity.ts'
import type { UserUpdate } from '#schemas/auth/requests.ts'
import { AuthError } from '../errors.ts'
import { mergeMetadata, storableMetadata } from '../people/metadata.ts'
import { revokeKeys } from '../keys/key-store.ts'
import { deleteCodes } from '../sign-in/flow-states.ts'
import { deleteTokens, takeByCode } from '../sign-in/one-time-tokens.ts'
import { requireStrongPassword } from '../sign-in/passwords.ts'
import { deleteSessions, FRESH_MS, getSessionOwner } from '../sign-in/sessions.ts'
import { findUser, getUser, type User } from '../people/find-users.ts'
import { isPending } from '../people/roles.ts'
import { updateUser, type UserChange } from '../people/users.ts'
import { passwordLimits } from './password-limits.ts'
import { startEmailChange } from './email-change.ts'
import { requireAddress } from './mail-flows.ts'
import type { ProtocolOptions } from './options.ts'

/** Who changes their account, and in which request. */
interface Change { request: FastifyRequest, reply: FastifyReply, user: User }

/** Changes that a person makes to their own account. @throws AuthError */
export function ownAccountUpdate (app: FastifyInstance, { config, keys, flows }: ProtocolOptions) {
  const { db, identity: { passwords, waitForListeners } } = app
  const countPasswordTry = passwordLimits(app, { config }, 'password-change')

  return async function change (
    request: FastifyRequest,
    reply: FastifyReply,
    body: UserUpdate,
    redirectTo: string | undefined
  ): Promise<User> {
    const { userId, sessionId } = request.principal!
    const user = await getUser(db, userId!)
    if (body.app_metadata !== undefined) throw new AuthError('not_admin')
    if (body.phone) throw new AuthError('phone_provider_disabled')
    const target = flows.linkTarget(redirectTo, body)
    const email = body.email && (await newAddress({ reply, user }, body.email))
    const password_hash =
      body.password === undefined ? undefined : await newPassword({ request, reply, user, sessionId: sessionId! }, body)
    // After all that may refuse the change: who is refused may ask again at once.
    if (email) await flows.admitMail(request, reply, 'email_change', user.email, email)

    const changed = await db.transaction(async (tx) => {
      if (email) await flows.countMail(tx, reply, 'email_change', user.email, email)
      const present = await getSessionOwner(tx, { userId: user.id, sessionId: sessionId! })
      // A new password also voids the mails sent before, and a change of address that a stranger may have started.
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
      const final = email ? await startEmailChange(tx, flows, result, email, target) : result
      if (email) await flows.audit(tx, request, 'email', user, { kind: 'email_change' })
      if (password_hash) await flows.audit(tx, request, 'password_cambiata', user, { keys })
      return final
    })
    if (email) app.mail.deliver()
    if (password_hash) await waitForListeners()
    return changed
  }

  /** The new address; undefined when it is the present one. */
  async function newAddress (
    { reply, user }: Omit<Change, 'request'>,
    email: string
  ): Promise<string | undefined> {
    flows.requireMail()
    const address = requireAddress({ email })
    if (address === user.email) return undefined
    // A stranger may wait with the address of a future colleague, who takes the mail for an invitation and confirms.
    if (isPending(user.app_metadata)) throw new AuthError('not_admin')
    // A caller could try one address after the other to see which have an account.
    await flows.countNewAddress(reply, user.id)
    if (await findUser(db, { email: address })) throw new AuthError('email_exists')
    return address
  }

  async function newPassword (
    { request, reply, user, sessionId }: Change & { sessionId: string },
    { password = '', current_password: current, nonce }: UserUpdate
  ): Promise<string> {
    requireStrongPassword(password, user.email)
    // A session that began with a recovery or an invitation may set a password for a day, too.
    const [session] = await db
      .select({ created_at: sessions.created_at })
      .from(sessions)
      .where(eq(sessions.id, sessionId))
    if (!session) throw new AuthError('session_not_found')
    const isFresh = Date.now() - session.created_at.getTime() < FRESH_MS
    // A person who has signed up alone is a stranger: those who sign in come first.
    const turn = request.principal!.pending ? 'later' : 'first'
    await countPasswordTry(request, reply, user.email)
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

  /** Whether the code that was sent for a change of password is right. It is good once. */
  async function takeNonce (reply: FastifyReply, user: User, code: string): Promise<boolean> {
    await flows.countCode(reply, user.email)
    const token = await db.transaction((tx) =>
      takeByCode(tx, keys, { to: { userId: user.id }, code, kinds: ['reauthentication'] })
    )
    return token?.sent_to === user.email
  }
}
