import { eq, sql } from 'drizzle-orm'
import { api_keys } from '#drizzle/tables/identity.ts'
import type { AuthUser } from '#schemas/auth/user.ts'
import type { Config } from '#src/config/config.ts'
import type { Database } from '#src/database/connect.ts'
import type { NotificationListener } from '#src/database/notifications.ts'
import { isAdmin, isStaff } from '../people/roles.ts'
import { rowCache } from '../row-cache.ts'
import { mayAdminister, mustHaveFactor, type KeyStatus } from '../session-status.ts'
import type { UserLookup } from './user-lookup.ts'

export type KeyStatusCache = ReturnType<typeof keyStatusCache>

/** The status of API keys whose owners are users of the external provider. */
export function keyStatusCache (
  db: Database, users: UserLookup, notifications: () => NotificationListener, settings: Pick<Config, 'REQUIRE_MFA'>
) {
  const cache = rowCache<KeyStatus>(notifications)
  const find = db.select().from(api_keys).where(eq(api_keys.id, sql.placeholder('id'))).prepare('external_key')

  return {
    async status (id: string): Promise<KeyStatus | undefined> {
      const key = cache.get(id) ?? await cache.read(id, () => load(id))
      if (key === undefined || key.endsAt <= Date.now()) return undefined
      const user = await users.recent(key.userId)
      // The cache needs the same object, because the authenticator writes the time of the last use into it.
      return user && Object.assign(key, rightsOf(user, key))
    },
    onChange: (id: string) => cache.drop((key) => key === id),
    clear: () => cache.drop(() => true)
  }

  function rightsOf (
    { app_metadata, factors = [] }: AuthUser, { recentUntil }: Pick<KeyStatus, 'recentUntil'>
  ): Pick<KeyStatus, 'admin' | 'pending' | 'lacks'> {
    const admin = isAdmin(app_metadata)
    const hasFactor = factors.some(({ status }) => status === 'verified')
    return {
      admin: admin && mayAdminister({ second_factor: recentUntil !== undefined, hasFactor }),
      pending: !isStaff(app_metadata),
      lacks: !hasFactor && mustHaveFactor(settings, { admin }) ? 'enrolment' : undefined
    }
  }

  async function load (id: string): Promise<KeyStatus | undefined> {
    const [row] = await find.execute({ id })
    if (!row || row.revoked_at !== null) return undefined
    const { user_id: userId, secret_hash: hash, scopes, last_used_at, expires_at, second_factor } = row
    const endsAt = expires_at.getTime()
    return {
      userId,
      hash,
      scopes,
      lastUsedAt: last_used_at?.getTime() ?? 0,
      endsAt,
      recentUntil: second_factor ? endsAt : undefined,
      admin: false,
      pending: false
    }
  }
}
