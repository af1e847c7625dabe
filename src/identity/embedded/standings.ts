import { eq, sql } from 'drizzle-orm'
import { LRUCache } from 'lru-cache'
import { api_keys, sessions, users } from '#drizzle/tables/identity.ts'
import type { Database } from '#src/plugins/database/connect.ts'
import type { Principal, Refusal } from '#src/plugins/auth.ts'
import type { Change, Changes } from '../changes.ts'
import { isAdmin, isPending } from '../people/roles.ts'

/** How a session, or the person behind a key, stands at present. */
export interface Standing {
  userId: string
  admin: boolean
  pending: boolean
  /** When it ends by itself, milliseconds since the epoch. */
  endsAt: number
}

export interface KeyStanding extends Standing { hash: Buffer, scopes: readonly string[], lastUsedAt: number }

/** Who stands how, remembered until the database says that it has changed. */
export interface Standings {
  /** What is remembered of a session, at once; undefined: ask. */
  remembered (sessionId: string): Standing | undefined
  session (sessionId: string): Promise<Standing | Refusal>
  key (id: string): Promise<KeyStanding | undefined>
  /**
   * Whether a person is an administrator with the session or key that they have come with, as the database has it now.
   */
  isAdmin (principal: Pick<Principal, 'userId' | 'sessionId' | 'keyId'>): Promise<boolean>
  changed (change: Change, id: string): void
  forget (): void
}

/** Should a notification be lost with its connection, nothing is believed for longer than this. */
const REMEMBERED_MS = 10_000
const AT_MOST = 5000

export function createStandings (db: Database, changes: () => Changes): Standings {
  const sessionCache = new LRUCache<string, Standing>({ max: AT_MOST, ttl: REMEMBERED_MS })
  const keyCache = new LRUCache<string, KeyStanding>({ max: AT_MOST, ttl: REMEMBERED_MS })
  /** What was read before something changed is not remembered after it. */
  let generation = 0

  const findSession = db
    .select({ user_id: sessions.user_id, not_after: sessions.not_after, ...facts() })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.user_id))
    .where(eq(sessions.id, sql.placeholder('id')))
    .prepare('identity_session')
  const findKey = db
    .select({
      user_id: api_keys.user_id,
      secret_hash: api_keys.secret_hash,
      scopes: api_keys.scopes,
      expires_at: api_keys.expires_at,
      revoked_at: api_keys.revoked_at,
      last_used_at: api_keys.last_used_at,
      ...facts()
    })
    .from(api_keys)
    .innerJoin(users, eq(users.id, api_keys.user_id))
    .where(eq(api_keys.id, sql.placeholder('id')))
    .prepare('identity_key')

  return {
    remembered (sessionId) {
      const standing = sessionCache.get(sessionId)
      return standing !== undefined && standing.endsAt > Date.now() ? standing : undefined
    },

    async session (sessionId) {
      const isHeard = await changes().ready()
      const before = generation
      const standing = await readSession(sessionId)
      if (typeof standing === 'object' && isHeard && before === generation) sessionCache.set(sessionId, standing)
      return standing
    },

    async key (id) {
      const known = keyCache.get(id)
      if (known !== undefined && known.endsAt > Date.now()) return known
      const isHeard = await changes().ready()
      const before = generation
      const standing = await readKey(id)
      if (standing && isHeard && before === generation) keyCache.set(id, standing)
      return standing
    },

    async isAdmin ({ userId, sessionId, keyId }) {
      const standing =
        sessionId !== undefined ? await readSession(sessionId) : keyId !== undefined ? await readKey(keyId) : undefined
      return typeof standing === 'object' && standing.userId === userId && standing.admin
    },

    changed (change, id) {
      generation++
      if (change === 'session') sessionCache.delete(id)
      else if (change === 'key') keyCache.delete(id)
      else if (change === 'user') {
        for (const cache of [sessionCache, keyCache]) {
          for (const [each, { userId }] of [...cache.entries()]) if (userId === id) cache.delete(each)
        }
      }
    },

    forget () {
      generation++
      sessionCache.clear()
      keyCache.clear()
    }
  }

  async function readSession (id: string): Promise<Standing | Refusal> {
    const [row] = await findSession.execute({ id })
    if (!row) return 'session_not_found'
    const endsAt = row.not_after.getTime()
    return refusal(row) ?? (endsAt <= Date.now() ? 'session_expired' : { ...rights(row), endsAt })
  }

  async function readKey (id: string): Promise<KeyStanding | undefined> {
    const [row] = await findKey.execute({ id })
    if (!row || row.revoked_at !== null || row.expires_at.getTime() <= Date.now() || refusal(row)) return undefined
    const { secret_hash: hash, scopes, last_used_at, expires_at } = row
    return { ...rights(row), hash, scopes, lastUsedAt: last_used_at?.getTime() ?? 0, endsAt: expires_at.getTime() }
  }
}

function facts () {
  return { app_metadata: users.app_metadata, banned_until: users.banned_until, deleted_at: users.deleted_at }
}

interface Facts {
  app_metadata: Record<string, unknown>
  banned_until: Date | null
  deleted_at: Date | null
  user_id: string
}

function refusal ({ banned_until, deleted_at }: Facts): Refusal | undefined {
  if (deleted_at !== null) return 'user_not_found'
  return banned_until !== null && banned_until.getTime() > Date.now() ? 'user_banned' : undefined
}

function rights ({ app_metadata, user_id }: Facts) {
  return { userId: user_id, admin: isAdmin(app_metadata), pending: isPending(app_metadata) }
}
