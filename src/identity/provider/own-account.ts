import type { FastifyInstance, FastifyRequest } from 'fastify'
import { eq } from 'drizzle-orm'
import { sessions } from '#drizzle/tables/index.ts'
import type { UserUpdate } from '#schemas/auth/requests.ts'
import { actorOf } from '../directory.ts'
import { AuthError } from '../errors.ts'
import { strongPassword } from '../strong-password.ts'
import { endSessions } from '../sessions.ts'
import { getUser, mergeMetadata, updateUser, type User, type UserChange } from '../users.ts'
import { startEmailChange } from './email-change.ts'
import { addressOf } from './mail-flows.ts'
import type { ProviderOptions } from './routes.ts'

/** After this a session alone is not enough to change the password: the present one, or a code by mail, is asked for. */
const FRESH_MS = 24 * 3_600_000

/** Changes to one's own account. @throws AuthError */
export function changeOwnAccount (app: FastifyInstance, options: ProviderOptions) {
  const { db, identity: { passwords, settled } } = app
  const flows = mailFlows(app, options)

  return async function change (request: FastifyRequest, body: UserUpdate, redirectTo: string | undefined): Promise<User> {
    const { userId, sessionId } = request.principal!
    const user = await getUser(db, userId!)
    if (body.app_metadata !== undefined) throw new AuthError('not_admin')
    if (body.phone) throw new AuthError('validation_failed', { message: 'Phone numbers are not supported' })
    const password_hash = body.password === undefined ? undefined : await newPassword(user, sessionId!, body)
    const email = body.email === undefined ? undefined : flows.newAddress(user, body.email)

    const changed = await db.transaction(async (tx) => {
      const values: UserChange = {
        ...(body.data === undefined ? {} : { user_metadata: mergeMetadata(user.user_metadata, body.data) }),
        ...(password_hash === undefined ? {} : { password_hash })
      }
      const result = Object.keys(values).length > 0 ? await updateUser(tx, user.id, values) : user
      if (password_hash !== undefined) await endSessions(tx, user.id, 'others', sessionId)
      const final = email === undefined ? result : await flows.startEmailChange(tx, result, email, redirectTo, body)
      if (password_hash !== undefined) await app.audit.append(tx, { ...actorOf(request), action: 'password_cambiata', object: `user:${user.id}` })
      return final
    })
    if (email !== undefined) app.mail.deliver()
    if (password_hash !== undefined) await settled()
    return changed
  }

  async function newPassword (user: User, sessionId: string, { password = '', current_password: current, nonce }: UserUpdate): Promise<string> {
    const [session] = await db.select({ created_at: sessions.created_at }).from(sessions).where(eq(sessions.id, sessionId))
    const isFresh = session !== undefined && Date.now() - session.created_at.getTime() < FRESH_MS
    if (current !== undefined) {
      if (!await passwords.verify(user.password_hash, current)) throw new AuthError('current_password_invalid')
    } else if (nonce !== undefined) {
      if (!await flows.takeNonce(user, nonce)) throw new AuthError('reauthentication_not_valid')
    } else if (!isFresh) {
      throw new AuthError('reauthentication_needed')
    }
    strongPassword(password, user.email)
    if (user.password_hash !== null && await passwords.verify(user.password_hash, password)) throw new AuthError('same_password')
    return await passwords.hash(password)
  }
}
