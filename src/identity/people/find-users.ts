import { and, asc, count, desc, eq, inArray, isNull, type SQL } from 'drizzle-orm'
import { identities, isImportedHash, users } from '#drizzle/tables/identity.ts'
import type { Executor, Transaction } from '#src/plugins/database/connect.ts'
import { AuthError } from '../errors.ts'
import { normalizeEmail } from './email.ts'

export type UserRow = typeof users.$inferSelect
export type IdentityRow = typeof identities.$inferSelect

/** A person with their identities, oldest first. */
export interface User extends UserRow { identities: IdentityRow[] }

/** Rows that were not deleted softly. */
export const notDeleted = isNull(users.deleted_at)

export async function findUser (db: Executor, by: { id: string } | { email: string }): Promise<User | undefined> {
  const where = 'id' in by ? eq(users.id, by.id) : eq(users.email, normalizeEmail(by.email))
  const [row] = await db.select().from(users).where(and(where, notDeleted))
  return row && await withIdentities(db, row)
}

/** @throws AuthError user_not_found */
export async function getUser (db: Executor, id: string): Promise<User> {
  const user = await findUser(db, { id })
  if (!user) throw new AuthError('user_not_found')
  return user
}

/**
 * Locks a person's row until the transaction ends: meanwhile no other transaction changes the person, or begins or ends
 * a session of theirs.
 */
export async function lockUser (tx: Transaction, id: string): Promise<UserRow | undefined> {
  // The weakest lock that keeps others from changing the row: other rows may refer to it meanwhile.
  const [row] = await tx.select().from(users).where(and(eq(users.id, id), notDeleted)).for('no key update')
  return row
}

/** A page of all users, newest first; all of them without `limit`. */
export async function listUsers (
  db: Executor,
  { limit, offset, where }: { limit?: number, offset?: number, where?: SQL } = {}
): Promise<{ users: User[], total: number }> {
  const condition = and(notDeleted, where)
  const page = db.select().from(users).where(condition).orderBy(desc(users.created_at), asc(users.id)).$dynamic()
  if (limit !== undefined) page.limit(limit).offset(offset ?? 0)
  const rows = await page
  const [counted] = await db.select({ total: count() }).from(users).where(condition)
  const ids = rows.map(({ id }) => id)
  const found = await db
    .select()
    .from(identities)
    .where(inArray(identities.user_id, ids))
    .orderBy(asc(identities.created_at))
  const byUser = Map.groupBy(found, ({ user_id }) => user_id)
  return { users: rows.map((row) => ({ ...row, identities: byUser.get(row.id) ?? [] })), total: counted!.total }
}

export async function withIdentities (db: Executor, row: UserRow): Promise<User> {
  return {
    ...row,
    identities: await db
      .select()
      .from(identities)
      .where(eq(identities.user_id, row.id))
      .orderBy(asc(identities.created_at))
  }
}

export function isBanned (until: Date | null): boolean {
  return until !== null && until.getTime() > Date.now()
}

/** Whether somebody has a password hash that takes another time to check than ours. */
export async function hasImportedHashes (db: Executor): Promise<boolean> {
  const found = await db.select({ id: users.id }).from(users).where(isImportedHash(users.password_hash)).limit(1)
  return found.length > 0
}
