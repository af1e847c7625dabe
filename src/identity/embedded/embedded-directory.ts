import { and, eq, type SQL } from 'drizzle-orm'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { identities } from '#drizzle/tables/identity.ts'
import type { AuthUser } from '#schemas/auth/user.ts'
import type { ClientConfig, OperatorBody } from '#schemas/operator.ts'
import type { Session } from '#schemas/session.ts'
import { NonAutenticato, SecondoFattoreRichiesto } from '#src/lib/errors.ts'
import type { Author } from '#src/services/audit/log.ts'
import type { Principal } from '#src/http/auth.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import type { Directory, ListedPeople, PeopleList, PeopleRange, PersonPrincipal } from '../directory.ts'
import type { IdentityOptions } from '../identity-provider.ts'
import { AuthError, EmailGiaRegistrata, ProviderNonCollegato, UnicaIdentita, UtenteNonTrovato } from '../errors.ts'
import {
  allUsers, countUsers, findUser, isBanned, usersAfter, withIdentities, type User
} from '../people/find-users.ts'
import { lockUser } from '../people/people-locks.ts'
import { isStaff, isStaffRow } from '../people/roles.ts'
import { anonKey } from '../tokens/machine-tokens.ts'
import { revokeKeys, revokeUnprovenKeys } from '../keys/key-store.ts'
import { presentSession, presentUser } from '../people/presenters.ts'
import { endSessions, endUnprovenSessions, getSessionOwner, listSessions } from '../sign-in/person-sessions.ts'
import { createUser, unlinkIdentity, updateUser } from '../people/users.ts'
import { record } from '../audit-record.ts'

/** The condition on rows for each kind of list. */
const ROWS: Readonly<Record<PeopleList, SQL | undefined>> = { users: undefined, operators: isStaffRow }

export class EmbeddedDirectory implements Directory {
  readonly clientConfig: ClientConfig
  readonly #app: FastifyInstance

  constructor (app: FastifyInstance, { config, keys }: IdentityOptions) {
    this.#app = app
    this.clientConfig = { backendUrl: config.PUBLIC_URL, backendKey: anonKey(config, keys) }
  }

  async createOperator (
    { email, password, name, surname }: OperatorBody, by: Author, noteDone: (tx: Executor) => Promise<void>
  ): Promise<AuthUser> {
    const { db, audit, identity: { passwords } } = this.#app
    const password_hash = await passwords.hash(password)
    const app_metadata = { role: 'operator' }
    const user_metadata = { name, surname }
    try {
      return presentUser(await db.transaction(async (tx) => {
        const user = await createUser(tx, { email, password_hash, confirmed: true, app_metadata, user_metadata })
        await noteDone(tx)
        await audit.append(tx, { ...by, action: 'utente_creato', object: `user:${user.id}`, details: app_metadata })
        return user
      }))
    } catch (err) {
      throw err instanceof AuthError && err.code === 'email_exists' ? new EmailGiaRegistrata() : err
    }
  }

  async checkOperator (id: string): Promise<void> {
    const user = await findUser(this.#app.db, { id })
    if (!user || !isStaff(user.app_metadata)) throw new UtenteNonTrovato()
  }

  async setPicture<T> (id: string, url: string, by: Author, store: (tx: Transaction) => Promise<T>): Promise<T> {
    return await this.#app.db.transaction(async (tx) => {
      const row = await lockUser(tx, id)
      if (!row) throw new UtenteNonTrovato()
      await updateUser(tx, id, { user_metadata: { ...row.user_metadata, avatar_url: url } })
      const stored = await store(tx)
      await this.#app.audit.append(tx, { ...by, action: 'immagine_profilo', object: `user:${row.id}` })
      return stored
    })
  }

  async people (list: PeopleList, range: PeopleRange): Promise<ListedPeople> {
    const { db } = this.#app
    const total = range.isCounted ? await countUsers(db, ROWS[list]) : undefined
    return { total, batches: batchesOf(db, ROWS[list], range) }
  }

  async unlink (request: FastifyRequest, caller: PersonPrincipal, provider: string): Promise<void> {
    const { userId, sessionId } = caller
    try {
      await this.#app.db.transaction(async (tx) => {
        const ofProvider = and(eq(identities.user_id, userId), eq(identities.provider, provider))
        const [identity] = await tx.select({ id: identities.id }).from(identities).where(ofProvider)
        if (!identity) throw new ProviderNonCollegato(provider)
        const revoked = await unlinkIdentity(tx, await lockCaller(tx, caller), identity.id, sessionId)
        await record(tx, request, 'identita_scollegata', `user:${userId}`, { provider, revoked })
      })
    } catch (err) {
      if (!(err instanceof AuthError)) throw err
      // Another request has unlinked it at the same time.
      if (err.code === 'identity_not_found') throw new ProviderNonCollegato(provider)
      throw err.code === 'email_conflict_identity_not_deletable' ? new EmailGiaRegistrata() : new UnicaIdentita()
    }
  }

  async sessions ({ userId, sessionId }: PersonPrincipal): Promise<Session[]> {
    return (await listSessions(this.#app.db, userId)).map((row) => presentSession(row, sessionId))
  }

  async revokeAll (request: FastifyRequest, caller: PersonPrincipal, alsoKeys: boolean): Promise<number> {
    const { userId, sessionId } = caller
    return await this.#app.db.transaction(async (tx) => {
      if (sessionId !== undefined) await lockOwner(tx, { userId, sessionId })
      // A key made with the password alone must not end sessions that have proven a second factor.
      const isLower = sessionId === undefined && hasNewerFactor(caller, await lockPerson(tx, userId))
      const revoked = await (isLower ? endUnprovenSessions(tx, userId) : endSessions(tx, userId, 'global'))
      const revoke = isLower ? revokeUnprovenKeys : revokeKeys
      const keys = alsoKeys ? await revoke(tx, userId) : 0
      await record(tx, request, 'sessioni_revocate', `user:${userId}`, { revoked, keys })
      return revoked
    })
  }

  async lockSession (tx: Transaction, caller: Principal): Promise<boolean> {
    return hasFactor(await lockOwner(tx, caller))
  }

  async requireLevel (tx: Transaction, caller: PersonPrincipal): Promise<void> {
    await lockCaller(tx, caller)
  }
}

async function * batchesOf (
  db: Executor, where: SQL | undefined, { limit, after }: PeopleRange
): AsyncGenerator<AuthUser[]> {
  if (limit !== undefined) return yield (await usersAfter(db, { where, limit, after })).map(presentUser)
  for await (const users of allUsers(db, where)) yield users.map(presentUser)
}

function hasFactor ({ factors }: User): boolean {
  return factors.some(({ status }) => status === 'verified')
}

/** Whether the caller's key was made with the password alone, and the person has enrolled a second factor since. */
function hasNewerFactor ({ recentUntil }: PersonPrincipal, user: User): boolean {
  return recentUntil === undefined && hasFactor(user)
}

/**
 * Locks the caller, who changes their own account. The session or key must have the level that the person needs.
 * Otherwise a person with the password alone could use a key to avoid the second factor.
 */
async function lockCaller (tx: Transaction, caller: PersonPrincipal): Promise<User> {
  const { userId, sessionId } = caller
  if (sessionId !== undefined) return await lockOwner(tx, { userId, sessionId })
  const user = await lockPerson(tx, userId)
  if (hasNewerFactor(caller, user)) throw new SecondoFattoreRichiesto()
  return user
}

async function lockPerson (tx: Transaction, id: string): Promise<User> {
  const row = await lockUser(tx, id)
  if (!row || isBanned(row.banned_until)) throw new NonAutenticato()
  return await withIdentities(tx, row)
}

async function lockOwner (tx: Transaction, caller: Pick<Principal, 'userId' | 'sessionId'>): Promise<User> {
  try {
    return await getSessionOwner(tx, caller)
  } catch (err) {
    if (!(err instanceof AuthError)) throw err
    throw err.code === 'insufficient_aal' ? new SecondoFattoreRichiesto() : new NonAutenticato()
  }
}
