import { and, asc, desc, eq, inArray, isNull, sql, type SQL } from 'drizzle-orm'
import { factors, identities, isImportedHash, users } from '#drizzle/tables/identity.ts'
import type { Executor } from '#src/database/connect.ts'
import { AuthError } from '../errors.ts'
import { normalizeEmail } from './email.ts'

export type UserRow = typeof users.$inferSelect
export type IdentityRow = typeof identities.$inferSelect

/** The columns of a second factor that clients may see. */
const FACTOR_COLUMNS = {
  id: factors.id,
  user_id: factors.user_id,
  factor_type: factors.factor_type,
  status: factors.status,
  friendly_name: factors.friendly_name,
  last_challenged_at: factors.last_challenged_at,
  created_at: factors.created_at,
  updated_at: factors.updated_at
}
export type FactorRow = Pick<typeof factors.$inferSelect, keyof typeof FACTOR_COLUMNS>

export interface User extends UserRow { identities: IdentityRow[], factors: FactorRow[] }

export const notDeleted = isNull(users.deleted_at)

export async function findUser (db: Executor, by: { id: string } | { email: string }): Promise<User | undefined> {
  const where = 'id' in by ? eq(users.id, by.id) : eq(users.email, normalizeEmail(by.email))
  const [row] = await db.select().from(users).where(and(where, notDeleted))
  return row && await withIdentities(db, row)
}

/** A user, or the empty row of a soft-deleted user, for administrators. @throws AuthError user_not_found */
export async function getUserOrDeleted (db: Executor, id: string): Promise<User> {
  const [row] = await db.select().from(users).where(eq(users.id, id))
  if (!row) throw new AuthError('user_not_found')
  return await withIdentities(db, row)
}

export async function getUser (db: Executor, id: string): Promise<User> {
  const user = await findUser(db, { id })
  if (!user) throw new AuthError('user_not_found')
  return user
}

/** Adds a user's identities and factors. */
export async function withIdentities (db: Executor, row: UserRow): Promise<User> {
  const [found, factors] = await Promise.all([
    db.select().from(identities).where(eq(identities.user_id, row.id)).orderBy(asc(identities.created_at)),
    listFactors(db, row.id)
  ])
  return { ...row, identities: found, factors }
}

export async function listFactors (db: Executor, userId: string): Promise<FactorRow[]> {
  return await db.select(FACTOR_COLUMNS).from(factors)
    .where(eq(factors.user_id, userId)).orderBy(asc(factors.created_at), asc(factors.id))
}

export function isBanned (until: Date | null): boolean {
  return until !== null && until.getTime() > Date.now()
}

/** True if any account has an imported hash. Verifying such a hash takes a different time. */
export async function hasImportedHashes (db: Executor): Promise<boolean> {
  const found = await db.select({ id: users.id }).from(users).where(isImportedHash(users.password_hash)).limit(1)
  return found.length > 0
}

export const USERS_AT_A_TIME = 1000

/** Uses the index `users_created_at` in reverse order. */
const NEWEST_FIRST = [desc(users.created_at), desc(users.id)]
const OLDEST_FIRST = [asc(users.created_at), asc(users.id)]

/** A page of the users that match a condition, newest or oldest first, with the total count. */
export async function pageOfUsers (
  db: Executor,
  { limit, offset, where, oldestFirst = false }:
  { limit: number, offset: number, where: SQL | undefined, oldestFirst?: boolean }
): Promise<{ users: User[], total: number }> {
  const condition = and(notDeleted, where)
  const rows = await db.select().from(users).where(condition)
    .orderBy(...(oldestFirst ? OLDEST_FIRST : NEWEST_FIRST)).limit(limit).offset(offset)
  const isLast = rows.length > 0 && rows.length < limit
  const total = isLast ? offset + rows.length : await db.$count(users, condition)
  return { users: await withTheirIdentities(db, rows), total }
}

interface UserPosition { created_at: string, id: string }

/** All users, or those that match a condition, newest first, in batches. Only the last batch may be short or empty. */
export async function * allUsers (db: Executor, where?: SQL): AsyncGenerator<User[]> {
  let batch: User[] = []
  do {
    const last = batch.at(-1)
    const after = last && { id: last.id, created_at: last.created_at.toISOString() }
    batch = await usersAfter(db, { where, after, limit: USERS_AT_A_TIME })
    yield batch
  } while (batch.length === USERS_AT_A_TIME)
}

/** The next users after a position that match a condition, newest first. */
export async function usersAfter (
  db: Executor,
  { where, after, limit }: { where: SQL | undefined, after: UserPosition | undefined, limit: number }
): Promise<User[]> {
  const beyond = after &&
    sql`(${users.created_at}, ${users.id}) < (${after.created_at}::timestamptz, ${after.id}::uuid)`
  const rows = await db.select().from(users).where(and(notDeleted, where, beyond)).orderBy(...NEWEST_FIRST).limit(limit)
  return await withTheirIdentities(db, rows)
}

export async function countUsers (db: Executor, where: SQL | undefined): Promise<number> {
  return await db.$count(users, and(notDeleted, where))
}

async function withTheirIdentities (db: Executor, rows: readonly UserRow[]): Promise<User[]> {
  const ids = rows.map(({ id }) => id)
  const [found, foundFactors] = await Promise.all([
    db.select().from(identities).where(inArray(identities.user_id, ids)).orderBy(asc(identities.created_at)),
    db.select(FACTOR_COLUMNS).from(factors).where(inArray(factors.user_id, ids)).orderBy(asc(factors.created_at))
  ])
  const byUser = Map.groupBy(found, ({ user_id }) => user_id)
  const factorsByUser = Map.groupBy(foundFactors, ({ user_id }) => user_id)
  return rows.map((row) => (
    { ...row, identities: byUser.get(row.id) ?? [], factors: factorsByUser.get(row.id) ?? [] }
  ))
}
