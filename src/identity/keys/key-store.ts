import { and, arrayContains, desc, eq, gt, isNull, sql } from 'drizzle-orm'
import { api_keys } from '#drizzle/tables/identity.ts'
import { SCOPES, type ApiKey, type MintedKey, type MintQuery, type Scope } from '#schemas/api-key.ts'
import type { Executor } from '#src/plugins/database/connect.ts'
import type { ApiKeyFormat } from './api-keys.ts'

const DEFAULT_DAYS = 90
const DAY_MS = 86_400_000

/** Makes a key for a person. Its text is in the answer, and nowhere else. */
export async function mintKey (
  tx: Executor, format: ApiKeyFormat, user_id: string, { name = 'locanda', days = DEFAULT_DAYS, scopes }: MintQuery
): Promise<MintedKey> {
  const { id, text, hash } = format.mint()
  const created_at = new Date()
  const expires_at = new Date(created_at.getTime() + days * DAY_MS)
  await tx
    .insert(api_keys)
    .values({ id, user_id, name, secret_hash: hash, scopes: scopes?.split(',') ?? [...SCOPES], created_at, expires_at })
  return { apiKey: text, id, created_at: created_at.toISOString(), expires_at: expires_at.toISOString() }
}

/** A person's keys, or everybody's; the latest first, revoked and expired ones too. */
export async function listKeys (db: Executor, user_id?: string): Promise<ApiKey[]> {
  const whose = user_id === undefined ? undefined : eq(api_keys.user_id, user_id)
  const rows = await db.select().from(api_keys).where(whose).orderBy(desc(api_keys.created_at))
  return rows.map(({ id, user_id, name, scopes, created_at, expires_at, last_used_at, revoked_at }) => ({
    id,
    user_id,
    name,
    scopes: scopes as Scope[],
    created_at: created_at.toISOString(),
    expires_at: expires_at.toISOString(),
    last_used_at: last_used_at?.toISOString() ?? null,
    revoked_at: revoked_at?.toISOString() ?? null
  }))
}

/** Ends a key: of a person, or anybody's. False when there is none that could be ended. */
export async function revokeKey (tx: Executor, id: string, user_id?: string): Promise<boolean> {
  const whose = user_id === undefined ? undefined : eq(api_keys.user_id, user_id)
  const revoked = await tx.update(api_keys).set({ revoked_at: sql`now()` })
    .where(and(eq(api_keys.id, id), whose, isNull(api_keys.revoked_at))).returning({ id: api_keys.id })
  return revoked.length > 0
}

/** The scopes of a key that is in force and good for administration; undefined for any other. */
export async function adminKeyScopes (db: Executor, id: string): Promise<string[] | undefined> {
  const [key] = await db.select({ scopes: api_keys.scopes }).from(api_keys).where(and(
    eq(api_keys.id, id),
    isNull(api_keys.revoked_at),
    gt(api_keys.expires_at, sql`now()`),
    arrayContains(api_keys.scopes, ['amministrazione'])
  ))
  return key?.scopes
}
