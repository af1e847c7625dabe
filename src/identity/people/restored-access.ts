import { and, eq, gt, inArray, isNull, sql } from 'drizzle-orm'
import { api_keys, flow_states, one_time_tokens, seen_sessions, sessions, users } from '#drizzle/tables/identity.ts'
import type { Executor } from '#src/database/connect.ts'
import { notDeleted } from './find-users.ts'

/** A person's ban, without the person's data. */
export interface Ban { id: string, until: string }

/** A revoked API key. The e-mail address is null for a person of an external provider. */
export interface RevokedKey { id: string, name: string, user: string, email: string | null }

/** The expiry of a recorded revocation. By then every token from before it is rejected as older than a day. */
const REVOKED_UNTIL = sql`now() + interval '25 hours'`

/** The current bans. */
export async function bansInForce (db: Executor): Promise<Ban[]> {
  const rows = await db.select({ id: users.id, until: users.banned_until }).from(users)
    .where(and(notDeleted, gt(users.banned_until, sql`now()`))).orderBy(users.id)
  return rows.map(({ id, until }) => ({ id, until: until!.toISOString() }))
}

/**
 * Ends all access that a restored backup contains: sessions, API keys, links and codes in mails, and unfinished
 * sign-ins. They may have been revoked since the backup.
 * @returns the number of sessions, and the keys that had not expired
 */
export async function endRestoredAccess (tx: Executor): Promise<{ sessions: number, keys: RevokedKey[] }> {
  const ended = await tx.delete(sessions).returning({ id: sessions.id })
  await tx.delete(one_time_tokens)
  await tx.delete(flow_states)
  const seen = await tx.update(seen_sessions).set({ revoked_at: sql`now()` }).where(isNull(seen_sessions.revoked_at))
    .returning({ id: seen_sessions.id, user_id: seen_sessions.user_id })
  // Marks all sessions of each person as revoked. For sessions first seen later, this server asks the provider.
  await tx.execute(sql`insert into ${seen_sessions} (id, user_id, expires_at, revoked_at)
    select distinct user_id, user_id, ${REVOKED_UNTIL}, now() from ${seen_sessions}
    on conflict (id) do update set expires_at = excluded.expires_at, revoked_at = excluded.revoked_at`)
  const revoked = await tx.update(api_keys).set({ revoked_at: sql`now()` }).where(isNull(api_keys.revoked_at))
    .returning({ id: api_keys.id })
  const { id, name, user_id: user, expires_at } = api_keys
  const keys = revoked.length === 0
    ? []
    : await tx.select({ id, name, user, email: users.email }).from(api_keys).leftJoin(users, eq(users.id, user))
      .where(and(inArray(id, revoked.map((key) => key.id)), gt(expires_at, sql`now()`))).orderBy(id)
  return { sessions: ended.length + seen.filter((row) => row.id !== row.user_id).length, keys }
}

/** Bans people again, at least until the given times. Returns the ids that exist. */
export async function banAgain (tx: Executor, bans: readonly Ban[]): Promise<string[]> {
  const banned: string[] = []
  for (const { id, until } of bans) {
    const found = await tx.update(users)
      .set({ banned_until: sql`greatest(${users.banned_until}, ${until}::timestamptz)` })
      .where(and(eq(users.id, id), notDeleted)).returning({ id: users.id })
    banned.push(...found.map((row) => row.id))
  }
  return banned
}

/** Deletes people again, even the last administrator. Returns the ids that existed. */
export async function deleteAgain (tx: Executor, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return []
  const deleted = await tx.delete(users).where(and(inArray(users.id, [...ids]), notDeleted)).returning({ id: users.id })
  return deleted.map(({ id }) => id)
}

/** The given ids that belong to a person. An administrator may have reused a deleted person's id. */
export async function presentPeople (db: Executor, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return []
  const rows = await db.select({ id: users.id }).from(users)
    .where(and(inArray(users.id, [...ids]), notDeleted))
  return rows.map(({ id }) => id)
}
