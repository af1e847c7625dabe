import { timingSafeEqual } from 'node:crypto'
import { eq } from 'drizzle-orm'
import type { FastifyBaseLogger } from 'fastify'
import { api_keys } from '#drizzle/tables/identity.ts'
import type { Authenticator } from '#src/plugins/auth.ts'
import type { Database } from '#src/plugins/database/connect.ts'
import type { ApiKeyFormat } from './api-keys.ts'
import type { KeyStanding } from '../embedded/standings.ts'

export interface PersonKeysOptions {
  apiKeys: ApiKeyFormat
  /** How a key and its person stand; undefined: it is not good, for whatever reason. */
  standing (id: string): Promise<KeyStanding | undefined>
  db: Database
  log: FastifyBaseLogger
}

/** When a key was used is kept to the minute. */
const TOUCH_MS = 60_000

/** Who comes with an API key of a person. */
export function keyAuthenticator ({ apiKeys, standing, db, log }: PersonKeysOptions): Authenticator['key'] {
  return async function key (text) {
    const presented = apiKeys.read(text)
    if (presented === undefined) return undefined
    const found = await standing(presented.id)
    if (found === undefined || !timingSafeEqual(found.hash, presented.hash)) return undefined
    if (Date.now() - found.lastUsedAt > TOUCH_MS) touch(presented.id, found)
    const { userId, admin, pending, scopes } = found
    return { id: `user:${userId}`, kind: 'user', userId, admin, pending, keyId: presented.id, scopes }
  }

  function touch (id: string, standing: KeyStanding) {
    standing.lastUsedAt = Date.now()
    db.update(api_keys).set({ last_used_at: new Date() }).where(eq(api_keys.id, id))
      .then(() => {}, (err: unknown) => log.warn({ err }, 'the use of a key was not noted'))
  }
}
