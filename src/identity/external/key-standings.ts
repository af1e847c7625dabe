import { eq, sql } from 'drizzle-orm'
import { api_keys } from '#drizzle/tables/identity.ts'
import type { Database } from '#src/plugins/database/connect.ts'
import type { Changes } from '../changes.ts'
import { isAdmin, isStranger } from '../people/roles.ts'
import type { KeyStanding } from '../embedded/standings.ts'
import type { People } from './people.ts'
import { remembered } from './remembered.ts'

/** The keys of persons whom the external provider knows. */
export interface KeyStandings {
  /** @throws ProviderNonRaggiungibile */
  standing (id: string): Promise<KeyStanding | undefined>
  changed (id: string): void
  forget (): void
}

export function keyStandings (db: Database, people: People, changes: () => Changes): KeyStandings {
  const memory = remembered<KeyStanding>(changes)
  const find = db.select().from(api_keys).where(eq(api_keys.id, sql.placeholder('id'))).prepare('external_key')

  return {
    async standing (id) {
      const key = memory.get(id) ?? await memory.read(id, () => load(id))
      if (key === undefined || key.endsAt <= Date.now()) return undefined
      const user = await people.recent(key.userId)
      // The same object: when it was last used is kept in it.
      return user && Object.assign(key, { admin: isAdmin(user.app_metadata), pending: isStranger(user.app_metadata) })
    },
    changed: (id) => memory.drop((key) => key === id),
    forget: () => memory.drop(() => true)
  }

  async function load (id: string): Promise<KeyStanding | undefined> {
    const [row] = await find.execute({ id })
    if (!row || row.revoked_at !== null) return undefined
    const { user_id: userId, secret_hash: hash, scopes, last_used_at, expires_at } = row
    return {
      userId,
      hash,
      scopes,
      lastUsedAt: last_used_at?.getTime() ?? 0,
      endsAt: expires_at.getTime(),
      admin: false,
      pending: false
    }
  }
}
