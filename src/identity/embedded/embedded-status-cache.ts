import { and, eq, exists, sql } from 'drizzle-orm'
import { api_keys, factors, sessions, users } from '#drizzle/tables/identity.ts'
import type { Config } from '#src/config/config.ts'
import type { Credential, Principal, Refusal } from '#src/http/auth.ts'
import type { NotificationListener } from '#src/database/notifications.ts'
import type { Database } from '#src/database/connect.ts'
import { isBanned } from '../people/find-users.ts'
import { isAdmin, isStaff } from '../people/roles.ts'
import { rowCache, type RowCache } from '../row-cache.ts'
import { mayAdminister, mustHaveFactor, recentUntil, type KeyStatus, type SessionStatus } from '../session-status.ts'

/** The status of the embedded provider's sessions and keys, cached for ten seconds at most. */
export class EmbeddedStatusCache {
  readonly #config: Pick<Config, 'REQUIRE_MFA'>
  readonly #sessions: RowCache<SessionStatus>
  readonly #keys: RowCache<KeyStatus>
  readonly #findSession
  readonly #findKey

  constructor (db: Database, notifications: () => NotificationListener, config: Pick<Config, 'REQUIRE_MFA'>) {
    this.#config = config
    this.#sessions = rowCache<SessionStatus>(notifications)
    this.#keys = rowCache<KeyStatus>(notifications)
    const { user_id, not_after, factor_id, amr } = sessions
    this.#findSession = db.select({ user_id, not_after, factor_id, amr, ...personColumns(db) }).from(sessions)
      .innerJoin(users, eq(users.id, sessions.user_id)).where(eq(sessions.id, sql.placeholder('id')))
      .prepare('identity_session')
    const { secret_hash, scopes, expires_at, revoked_at, last_used_at, second_factor } = api_keys
    const ofKey = { user_id: api_keys.user_id, secret_hash, scopes, expires_at, revoked_at, last_used_at }
    this.#findKey = db.select({ ...ofKey, second_factor, ...personColumns(db) }).from(api_keys)
      .innerJoin(users, eq(users.id, api_keys.user_id)).where(eq(api_keys.id, sql.placeholder('id')))
      .prepare('identity_key')
  }

  /** The cached status of a session. Undefined when it is not cached. */
  cached (sessionId: string): SessionStatus | undefined {
    return unlessEnded(this.#sessions.get(sessionId))
  }

  async session (sessionId: string): Promise<SessionStatus | Refusal> {
    let refusal: Refusal | undefined
    const status = await this.#sessions.read(sessionId, async () => {
      const found = await this.#readSession(sessionId)
      if (typeof found !== 'string') return found
      refusal = found
      return undefined
    })
    return status ?? refusal!
  }

  /** The status of a key. Undefined when the key is not valid. */
  async key (id: string): Promise<KeyStatus | undefined> {
    return unlessEnded(this.#keys.get(id)) ?? await this.#keys.read(id, () => this.#readKey(id))
  }

  /** Whether a session or key gives an administrator's rights, according to the database now. */
  async isAdmin (credential: Credential): Promise<boolean> {
    const status = await this.#readCredential(credential)
    return status !== undefined && status.lacks === undefined && status.admin
  }

  /** Whether a session or key is valid and its person is not pending, according to the database now. */
  async isStillValid (credential: Credential): Promise<boolean> {
    const status = await this.#readCredential(credential)
    return status !== undefined && !status.pending
  }

  onUserChange (id: string): void {
    for (const cache of [this.#sessions, this.#keys]) cache.drop((_, { userId }) => userId === id)
  }

  onSessionChange (id: string): void {
    this.#sessions.drop((sessionId) => sessionId === id)
  }

  onKeyChange (id: string): void {
    this.#keys.drop((keyId) => keyId === id)
  }

  clear (): void {
    for (const cache of [this.#sessions, this.#keys]) cache.drop(() => true)
  }

  async #readCredential ({ userId, sessionId, keyId }: Credential): Promise<SessionStatus | undefined> {
    const status = sessionId !== undefined
      ? await this.#readSession(sessionId)
      : keyId !== undefined ? await this.#readKey(keyId) : undefined
    return typeof status === 'object' && status.userId === userId ? status : undefined
  }

  async #readSession (id: string): Promise<SessionStatus | Refusal> {
    const [row] = await this.#findSession.execute({ id })
    if (!row) return 'session_not_found'
    const endsAt = row.not_after.getTime()
    const refusal = refusalOf(row)
    if (refusal !== undefined) return refusal
    if (endsAt <= Date.now()) return 'session_expired'
    const { factor_id, amr } = row
    const isProven = factor_id !== null
    const recent = isProven ? { recentUntil: recentUntil(amr) } : {}
    return { ...rightsOf(row), endsAt, lacks: this.#lackOf(row, isProven), ...recent }
  }

  #lackOf (row: PersonColumns, isProven: boolean): Principal['lacks'] {
    if (!isProven && row.hasFactor) return 'proof'
    if (row.password_printed) return 'password'
    return !isProven && mustHaveFactor(this.#config, rightsOf(row)) ? 'enrolment' : undefined
  }

  async #readKey (id: string): Promise<KeyStatus | undefined> {
    const [row] = await this.#findKey.execute({ id })
    if (!row || row.revoked_at !== null || row.expires_at.getTime() <= Date.now() || refusalOf(row)) return undefined
    const { secret_hash: hash, scopes, last_used_at, expires_at, second_factor, hasFactor } = row
    const rights = rightsOf(row)
    const endsAt = expires_at.getTime()
    return {
      ...rights,
      admin: rights.admin && mayAdminister({ second_factor, hasFactor }),
      hash,
      scopes,
      lastUsedAt: last_used_at?.getTime() ?? 0,
      endsAt,
      lacks: !hasFactor && mustHaveFactor(this.#config, rights) ? 'enrolment' : undefined,
      recentUntil: second_factor ? endsAt : undefined
    }
  }
}

function unlessEnded<T extends SessionStatus> (status: T | undefined): T | undefined {
  return status !== undefined && status.endsAt > Date.now() ? status : undefined
}

function personColumns (db: Database) {
  const verified = db.select({ id: factors.id }).from(factors)
    .where(and(eq(factors.user_id, users.id), eq(factors.status, 'verified')))
  return {
    app_metadata: users.app_metadata,
    banned_until: users.banned_until,
    deleted_at: users.deleted_at,
    password_printed: users.password_printed,
    hasFactor: sql<boolean>`${exists(verified)}`
  }
}

interface PersonColumns {
  app_metadata: Record<string, unknown>
  banned_until: Date | null
  deleted_at: Date | null
  password_printed: boolean
  hasFactor: boolean
  user_id: string
}

function refusalOf ({ banned_until, deleted_at }: PersonColumns): Refusal | undefined {
  if (deleted_at !== null) return 'user_not_found'
  return isBanned(banned_until) ? 'user_banned' : undefined
}

function rightsOf ({ app_metadata, user_id }: PersonColumns) {
  return { userId: user_id, admin: isAdmin(app_metadata), pending: !isStaff(app_metadata) }
}
