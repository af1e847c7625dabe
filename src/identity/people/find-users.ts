import { and, asc, count, desc, eq, gt, inArray, isNull, lt, lte, or, type SQL } from 'drizzle-orm'
import { identities, isImportedHash, users } from '#drizzle/tables/identity.ts'
import type { Executor } from '#src/plugins/database/connect.ts'
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

/** Users read at a time when all are wanted. */
export const USERS_AT_A_TIME = 1000

const NEWEST_FIRST = [desc(users.created_at), asc(users.id)]

/** A page of all users, newest first. */
export async function listUsers (
  db: Executor,
  { limit, offset, where }: { limit: number, offset: number, where: SQL | undefined }
): Promise<{ users: User[], total: number }> {
  const condition = and(notDeleted, where)
  const rows = await db.select().from(users).where(condition).orderBy(...NEWEST_FIRST).limit(limit).offset(offset)
  const [counted] = await db.select({ total: count() }).from(users).where(condition)
  return { users: await withTheirIdentities(db, rows), total: counted!.total }
}

/** All users, newest first, in batches: all are full but the last, which may be empty. */
export async function * allUsers (db: Executor): AsyncGenerator<User[]> {
  let rows: UserRow[] = []
  do {
    const last = rows.at(-1)
    const beyond = last && and(
      lte(users.created_at, last.created_at),
      or(lt(users.created_at, last.created_at), gt(users.id, last.id))
    )
    rows = await db.select().from(users).where(and(notDeleted, beyond)).orderBy(...NEWEST_FIRST).limit(USERS_AT_A_TIME)
    yield await withTheirIdentities(db, rows)
  } while (rows.length === USERS_AT_A_TIME)
}

async function withTheirIdentities (db: Executor, rows: readonly UserRow[]): Promise<User[]> {
  const found = await db
    .select()
    .from(identities)
    .where(inArray(identities.user_id, rows.map(({ id }) => id)))
    .orderBy(asc(identities.created_at))
  const byUser = Map.groupBy(found, ({ user_id }) => user_id)
  return rows.map((row) => ({ ...row, identities: byUser.get(row.id) ?? [] }))
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
