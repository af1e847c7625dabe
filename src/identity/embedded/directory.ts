import { and, eq } from 'drizzle-orm'
import type { FastifyInstance } from 'fastify'
import { identities } from '#drizzle/tables/identity.ts'
import type { AuthUser } from '#schemas/auth/user.ts'
import { NonAutenticato, SecondoFattoreRichiesto } from '#src/lib/errors.ts'
import type { Transaction } from '#src/database/connect.ts'
import type { Directory, PersonPrincipal } from '../directory.ts'
import type { IdentityOptions } from '../options.ts'
import { AuthError, EmailGiaRegistrata, ProviderNonCollegato, UnicaIdentita, UtenteNonTrovato } from '../errors.ts'
import { findUser, isBanned, withIdentities, type User } from '../people/find-users.ts'
import { lockUser } from '../people/locks.ts'
import { isStaff } from '../people/roles.ts'
import { anonKey } from '../tokens/machine-tokens.ts'
import { revokeKeys, revokeUnprovenKeys } from '../keys/key-store.ts'
import type { Passwords } from '../sign-in/passwords.ts'
import { presentSession, presentUser } from '../people/present.ts'
import { endSessions, endUnprovenSessions, getSessionOwner, listSessions } from '../sign-in/sessions.ts'
import { allUsers, isStaffRow } from '../people/user-lists.ts'
import { createUser, updateUser } from '../people/users.ts'
import { unlinkIdentity } from '../people/unlink.ts'

export interface EmbeddedDirectoryOptions extends IdentityOptions { app: FastifyInstance, passwords: Passwords }

/** The users of the embedded provider. */
export function embeddedDirectory ({ app, config, keys, passwords }: EmbeddedDirectoryOptions): Directory {
  const { db } = app

  return {
    clientConfig: { backendUrl: config.PUBLIC_URL, backendKey: anonKey(config, keys) },

    async createOperator ({ email, password, name, surname }, { actor, ip }, noteDone) {
      const password_hash = await passwords.hash(password)
      try {
        return presentUser(await db.transaction(async (tx) => {
          const user = await createUser(tx, {
            email,
            password_hash,
            confirmed: true,
            app_metadata: { role: 'operator' },
            user_metadata: { name, surname }
          })
          await noteDone(tx)
          await app.audit.append(tx, {
            actor,
            ip,
            action: 'utente_creato',
            object: `user:${user.id}`,
            details: { role: 'operator' }
          })
          return user
        }))
      } catch (err) {
        throw err instanceof AuthError && err.code === 'email_exists' ? new EmailGiaRegistrata() : err
      }
    },

    async checkOperator (id) {
      const user = await findUser(db, { id })
      if (!user || !isStaff(user.app_metadata)) throw new UtenteNonTrovato()
    },

    async setPicture (id, url, { actor, ip }, store) {
      await db.transaction(async (tx) => {
        const row = await lockUser(tx, id)
        if (!row) throw new UtenteNonTrovato()
        await updateUser(tx, id, { user_metadata: { ...row.user_metadata, avatar_url: url } })
        await store(tx)
        await app.audit.append(tx, { actor, ip, action: 'immagine_profilo', object: `user:${row.id}` })
      })
    },

    async operators () {
      const found: AuthUser[] = []
      for await (const users of allUsers(db, isStaffRow)) found.push(...users.map(presentUser))
      return found
    },

    async * users () {
      for await (const users of allUsers(db)) yield users.map(presentUser)
    },

    async unlink (request, caller, provider) {
      const { id: actor, userId, sessionId } = caller
      try {
        await db.transaction(async (tx) => {
          const ofProvider = and(eq(identities.user_id, userId), eq(identities.provider, provider))
          const [identity] = await tx.select({ id: identities.id }).from(identities).where(ofProvider)
          if (!identity) throw new ProviderNonCollegato(provider)
          const revoked = await unlinkIdentity(tx, await lockCaller(tx, caller), identity.id, sessionId)
          await app.audit.append(tx, {
            actor,
            ip: request.ip,
            action: 'identita_scollegata',
            object: `user:${userId}`,
            details: { provider, revoked }
          })
        })
      } catch (err) {
        if (!(err instanceof AuthError)) throw err
        // Another request has just unlinked it.
        if (err.code === 'identity_not_found') throw new ProviderNonCollegato(provider)
        throw err.code === 'email_conflict_identity_not_deletable' ? new EmailGiaRegistrata() : new UnicaIdentita()
      }
    },

    async sessions ({ userId, sessionId }) {
      return (await listSessions(db, userId)).map((row) => presentSession(row, sessionId))
    },

    async revokeAll (request, caller, alsoKeys) {
      const { id: actor, userId, sessionId } = caller
      return await db.transaction(async (tx) => {
        if (sessionId !== undefined) await lockOwner(tx, { userId, sessionId })
        // A key that was made with the password alone shuts nobody out who has a second factor since.
        const isLower = sessionId === undefined && isOutdone(caller, await lockPerson(tx, userId))
        const revoked = await (isLower ? endUnprovenSessions(tx, userId) : endSessions(tx, userId, 'global'))
        const revoke = isLower ? revokeUnprovenKeys : revokeKeys
        const keys = alsoKeys ? await revoke(tx, userId) : 0
        await app.audit.append(tx, {
          actor,
          ip: request.ip,
          action: 'sessioni_revocate',
          object: `user:${userId}`,
          details: { revoked, keys }
        })
        return revoked
      })
    },

    async lockSession (tx, { userId, sessionId }) {
      return hasFactor(await lockOwner(tx, { userId: userId!, sessionId: sessionId! }))
    },

    async requireLevel (tx, caller) {
      await lockCaller(tx, caller)
    }
  }
}

function hasFactor ({ factors }: User): boolean {
  return factors.some(({ status }) => status === 'verified')
}

/** Whether a caller with a key made it with the password alone, and has a second factor since. */
function isOutdone ({ recentUntil }: PersonPrincipal, user: User): boolean {
  return recentUntil === undefined && hasFactor(user)
}

/**
 * Locks the caller, who changes the own account: in a session at the level that its person needs, or with a key that
 * was made at it. The password alone must not undo by a key what it cannot undo in a session.
 * @throws NonAutenticato, SecondoFattoreRichiesto
 */
async function lockCaller (tx: Transaction, caller: PersonPrincipal): Promise<User> {
  const { userId, sessionId } = caller
  if (sessionId !== undefined) return await lockOwner(tx, { userId, sessionId })
  const user = await lockPerson(tx, userId)
  if (isOutdone(caller, user)) throw new SecondoFattoreRichiesto()
  return user
}

/** @throws NonAutenticato for a person who is deleted or banned meanwhile */
async function lockPerson (tx: Transaction, id: string): Promise<User> {
  const row = await lockUser(tx, id)
  if (!row || isBanned(row.banned_until)) throw new NonAutenticato()
  return await withIdentities(tx, row)
}

/** @throws NonAutenticato, SecondoFattoreRichiesto */
async function lockOwner (tx: Transaction, caller: { userId: string, sessionId: string }): Promise<User> {
  try {
    return await getSessionOwner(tx, caller)
  } catch (err) {
    if (!(err instanceof AuthError)) throw err
    throw err.code === 'insufficient_aal' ? new SecondoFattoreRichiesto() : new NonAutenticato()
  }
}
