import { timingSafeEqual } from 'node:crypto'
import { eq } from 'drizzle-orm'
import type { FastifyBaseLogger } from 'fastify'
import { api_keys } from '#drizzle/tables/identity.ts'
import type { Authenticator } from '#src/http/auth.ts'
import type { Database } from '#src/database/connect.ts'
import type { ApiKeyFormat } from './api-keys.ts'
import type { KeyStanding } from '../standing.ts'

export interface PersonKeysOptions {
  apiKeys: ApiKeyFormat
  /** How a key and its person stand; undefined for a key that is not good. */
  standing (id: string): Promise<KeyStanding | undefined>
  db: Database
  log: FastifyBaseLogger
}

/** The time of a key's last use is written at most once a minute. */
const TOUCH_MS = 60_000

/** Identifies the caller by a person's API key. */
export function keyAuthenticator ({ apiKeys, standing, db, log }: PersonKeysOptions): Authenticator['key'] {
  return async function key (text) {
    const presented = apiKeys.read(text)
    if (presented === undefined) return undefined
    const found = await standing(presented.id)
    if (found === undefined || !timingSafeEqual(found.hash, presented.hash)) return undefined
    if (Date.now() - found.lastUsedAt > TOUCH_MS) touch(presented.id, found)
    const { userId, admin, pending, scopes, lacks, recentUntil, endsAt: goodUntil } = found
    const { id: keyId } = presented
    return {
      id: `user:${userId}`, kind: 'user', userId, admin, pending, keyId, scopes, lacks, recentUntil, goodUntil
    }
  }

  function touch (id: string, standing: KeyStanding) {
    standing.lastUsedAt = Date.now()
    db.update(api_keys).set({ last_used_at: new Date() }).where(eq(api_keys.id, id))
      .then(() => {}, (err: unknown) => log.warn({ err }, 'the use of an API key could not be recorded'))
  }
}
