import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { eq } from 'drizzle-orm'
import type { FastifyInstance } from 'fastify'
import { api_keys } from '#drizzle/tables/identity.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { permits, type Authenticator } from '#src/http/auth.ts'
import type { KeyStatus } from '../session-status.ts'

/**
 * `lcd_<id>_<secret>_<mac>`, all hexadecimal: a 64-bit id for the lookup, 256 secret bits, and a 48-bit MAC. Only this
 * installation can compute the MAC.
 */
const FORM = /^lcd_([0-9a-f]{16})_([0-9a-f]{64})_([0-9a-f]{12})$/

export interface ApiKeyFormat {
  /** Creates a key. The text is shown once, because only its hash is stored. */
  mint (): { id: string, text: string, hash: Buffer }
  /** Undefined for a text that this installation did not issue. So invented keys cause no database query. */
  read (text: string): { id: string, hash: Buffer } | undefined
}

export function apiKeyFormat (keys: Keys): ApiKeyFormat {
  const secret = keys.derive('api-key')
  const mac = (body: string) => createHmac('sha256', secret).update(body).digest('hex').slice(0, 12)

  return {
    mint () {
      const id = randomBytes(8).toString('hex')
      const body = `lcd_${id}_${randomBytes(32).toString('hex')}`
      const text = `${body}_${mac(body)}`
      return { id, text, hash: digest(text) }
    },
    read (text) {
      const [, id, , presented] = FORM.exec(text) ?? []
      if (id === undefined || presented === undefined) return undefined
      const expected = mac(text.slice(0, text.lastIndexOf('_')))
      return timingSafeEqual(Buffer.from(expected), Buffer.from(presented)) ? { id, hash: digest(text) } : undefined
    }
  }
}

function digest (text: string): Buffer {
  return hash('sha256', text, 'buffer')
}

/** Minimum time between two writes of a key's last use. */
const TOUCH_MS = 60_000

/** @param status returns the status of a key and its owner, or undefined for a key that is not valid */
export function keyAuthenticator (
  { db, log }: FastifyInstance, apiKeys: ApiKeyFormat, status: (id: string) => Promise<KeyStatus | undefined>
): Authenticator['key'] {
  return async function key (text) {
    const presented = apiKeys.read(text)
    if (presented === undefined) return undefined
    const found = await status(presented.id)
    if (found === undefined || !timingSafeEqual(found.hash, presented.hash)) return undefined
    if (Date.now() - found.lastUsedAt > TOUCH_MS) touch(presented.id, found)
    const { userId, pending, scopes, lacks, recentUntil, endsAt: goodUntil } = found
    const { id: keyId } = presented
    const admin = found.admin && permits(found, 'amministrazione')
    return {
      id: `user:${userId}`, kind: 'user', userId, admin, pending, keyId, scopes, lacks, recentUntil, goodUntil
    }
  }

  function touch (id: string, status: KeyStatus) {
    status.lastUsedAt = Date.now()
    db.update(api_keys).set({ last_used_at: new Date() }).where(eq(api_keys.id, id))
      .then(() => {}, (err: unknown) => log.warn({ err }, 'the use of an API key could not be recorded'))
  }
}
