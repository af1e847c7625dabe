import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { eq } from 'drizzle-orm'
import { sessions } from '#drizzle/tables/identity.ts'
import type { UserUpdate } from '#schemas/auth/requests.ts'
import { AuthError } from '../errors.ts'
import { storableMetadata } from '../people/metadata.ts'
import { forgetTokens, takeByCode } from '../sign-in/one-time-tokens.ts'
import { strongPassword } from '../sign-in/strong-password.ts'
import { endSessions, getSessionOwner } from '../sign-in/sessions.ts'
import { findUser, getUser, mergeMetadata, updateUser, type User, type UserChange } from '../people/users.ts'
import { passwordAttempts } from './attempts.ts'
import { CHANGE_KINDS, startEmailChange } from './email-change.ts'
import { addressOf } from './mail-flows.ts'
import type { ProviderOptions } from './routes.ts'

/**
 * After this a session alone is not enough to change the password: the present one, or a code by mail, is asked for.
 */
const FRESH_MS = 24 * 3_600_000

/** Changes to one's own account. @throws AuthError */
export function changeOwnAccount (app: FastifyInstance, { config, keys, flows }: ProviderOptions) {
  const { db, identity: { passwords, settled } } = app
  const countAttempt = passwordAttempts(app, { config, keys })

  return async function change (
    request: FastifyRequest,
    reply: FastifyReply,
    body: UserUpdate,
    redirectTo: string | undefined
  ): Promise<User> {
    const { userId, sessionId } = request.principal!
    const user = await getUser(db, userId!)
    if (body.app_metadata !== undefined) throw new AuthError('not_admin')
    if (body.phone) throw new AuthError('validation_failed', { message: 'Phone numbers are not supported' })
    const way = flows.way(redirectTo, body)
    const email = body.email && (await newAddress(request, user, body.email))
    const password_hash =
      body.password === undefined ? undefined : await newPassword({ request, reply, user, sessionId: sessionId! }, body)

    const changed = await db.transaction(async (tx) => {
      // Locks in the order in which a proof by mail takes them. With a password, mails that lie about still, and a
      // change of address that somebody else has begun, are void as well.
      if (email || password_hash) await forgetTokens(tx, user.id, password_hash ? undefined : CHANGE_KINDS)
      const present = await getSessionOwner(tx, { userId: user.id, sessionId: sessionId! })
      const values: UserChange = {
        ...(body.data && { user_metadata: storableMetadata(mergeMetadata(present.user_metadata, body.data)) }),
        ...(password_hash && { password_hash, new_email: null })
      }
      if (password_hash) await endSessions(tx, user.id, 'others', sessionId)
      const result = Object.keys(values).length > 0 ? await updateUser(tx, user.id, values) : present
      const final = email ? await startEmailChange(tx, flows, result, email, way) : result
      if (email) await flows.note(tx, request, 'email', user, { kind: 'email_change' })
      if (password_hash) await flows.note(tx, request, 'password_cambiata', user)
      return final
    })
    if (email) app.mail.deliver()
    if (password_hash) await settled()
    return changed
  }

  /** A new address that can be asked for; undefined when it is the present one. */
  async function newAddress (request: FastifyRequest, user: User, email: string): Promise<string | undefined> {
    flows.required()
    const address = addressOf({ email })
    if (address === user.email) return undefined
    // Who tries one address after the other to see which are taken is counted, too.
    await flows.mail(request, undefined, 'email_change', user.email)
    await flows.mail(request, undefined, 'email_change', address)
    if (await findUser(db, { email: address })) throw new AuthError('email_exists')
    return address
  }

  interface Changing { request: FastifyRequest, reply: FastifyReply, user: User, sessionId: string }

  async function newPassword (
    { request, reply, user, sessionId }: Changing,
    { password = '', current_password: current, nonce }: UserUpdate
  ): Promise<string> {
    strongPassword(password, user.email)
    // A session by recovery or invitation is as fresh as any other: it lets the password be set for a day.
    const [session] = await db
      .select({ created_at: sessions.created_at })
      .from(sessions)
      .where(eq(sessions.id, sessionId))
    if (!session) throw new AuthError('session_not_found')
    const isFresh = Date.now() - session.created_at.getTime() < FRESH_MS
    if (current !== undefined) {
      await countAttempt(request, reply, user.email)
      if (!(await passwords.verify(user.password_hash, current))) throw new AuthError('current_password_invalid')
    } else if (nonce) {
      if (!(await takeNonce(request, user, nonce))) throw new AuthError('reauthentication_not_valid')
    } else if (!isFresh) {
      throw new AuthError('reauthentication_needed')
    }
    if (user.password_hash !== null && (await passwords.verify(user.password_hash, password))) {
      throw new AuthError('same_password')
    }
    return await passwords.hash(password)
  }

  /** Whether a code that was sent for a change of password is right; it is good once. */
  async function takeNonce (request: FastifyRequest, user: User, code: string): Promise<boolean> {
    await flows.code(request, undefined, user.email)
    const token = await db.transaction((tx) =>
      takeByCode(tx, keys, { to: { userId: user.id }, code, kinds: ['reauthentication'] })
    )
    return token?.sent_to === user.email
  }
}
