import { and, arrayContains, desc, eq, gt, isNull, sql, type SQL } from 'drizzle-orm'
import { api_keys } from '#drizzle/tables/identity.ts'
import { isScope, SCOPES, type ApiKey, type MintedKey, type MintQuery, type Scope } from '#schemas/api-key.ts'
import type { Executor } from '#src/database/connect.ts'
import { TroppeChiavi } from '../errors.ts'
import type { ApiKeyFormat } from './api-keys.ts'

const DEFAULT_DAYS = 90
const DAY_MS = 86_400_000
/** Maximum valid keys of one person. */
const LIVE_KEYS = 20

/**
 * Creates a key for a person. Only the response contains the text of the key, because the database stores its hash. The
 * caller has locked the person (`lockSession` of the directory), so concurrent requests cannot exceed the limit.
 * @param second_factor whether a second factor was proven in the session that creates the key
 * @throws TroppeChiavi
 */
export async function mintKey (
  tx: Executor,
  format: ApiKeyFormat,
  user_id: string,
  { name = 'locanda', days = DEFAULT_DAYS, scopes }: MintQuery,
  second_factor = false
): Promise<MintedKey> {
  const live = await tx.$count(api_keys, and(
    eq(api_keys.user_id, user_id), isNull(api_keys.revoked_at), gt(api_keys.expires_at, sql`now()`)
  ))
  if (live >= LIVE_KEYS) throw new TroppeChiavi(LIVE_KEYS)
  const { id, text, hash } = format.mint()
  const created_at = new Date()
  const expires_at = new Date(created_at.getTime() + days * DAY_MS)
  await tx.insert(api_keys).values({
    id,
    user_id,
    name,
    secret_hash: hash,
    second_factor,
    scopes: scopes?.split(',').filter(isScope) ?? [...SCOPES],
    created_at,
    expires_at
  })
  return { apiKey: text, id, created_at: created_at.toISOString(), expires_at: expires_at.toISOString() }
}

/** The keys of one person, or of all, latest first. Includes revoked and expired keys. */
export async function listKeys (db: Executor, user_id?: string): Promise<ApiKey[]> {
  const owner = user_id === undefined ? undefined : eq(api_keys.user_id, user_id)
  const rows = await db.select().from(api_keys).where(owner).orderBy(desc(api_keys.created_at))
  return rows.map(({ id, user_id, name, scopes, created_at, expires_at, last_used_at, revoked_at }) => ({
    id,
    user_id,
    name,
    scopes,
    created_at: created_at.toISOString(),
    expires_at: expires_at.toISOString(),
    last_used_at: last_used_at?.toISOString() ?? null,
    revoked_at: revoked_at?.toISOString() ?? null
  }))
}

/** Revokes a key, with `user_id` only a key of this person. False when none matches or it is already revoked. */
export async function revokeKey (tx: Executor, id: string, user_id?: string): Promise<boolean> {
  const owner = user_id === undefined ? undefined : eq(api_keys.user_id, user_id)
  const revoked = await tx.update(api_keys).set({ revoked_at: sql`now()` })
    .where(and(eq(api_keys.id, id), owner, isNull(api_keys.revoked_at))).returning({ id: api_keys.id })
  return revoked.length > 0
}

/** Revokes all keys of a person, or those that match `which`. Returns their number. */
export async function revokeKeys (tx: Executor, user_id: string, which?: SQL): Promise<number> {
  const revoked = await tx.update(api_keys).set({ revoked_at: sql`now()` })
    .where(and(eq(api_keys.user_id, user_id), isNull(api_keys.revoked_at), which)).returning({ id: api_keys.id })
  return revoked.length
}

/** Revokes a person's keys that were made without a second factor. Returns their number. */
export async function revokeUnprovenKeys (tx: Executor, userId: string): Promise<number> {
  return await revokeKeys(tx, userId, eq(api_keys.second_factor, false))
}

/** The scopes of a valid key with the scope `amministrazione`, undefined for any other. Does not check its owner. */
export async function adminKeyScopes (db: Executor, id: string): Promise<Scope[] | undefined> {
  const [key] = await db.select({ scopes: api_keys.scopes }).from(api_keys).where(and(
    eq(api_keys.id, id),
    isNull(api_keys.revoked_at),
    gt(api_keys.expires_at, sql`now()`),
    arrayContains(api_keys.scopes, ['amministrazione'])
  ))
  return key?.scopes
}
