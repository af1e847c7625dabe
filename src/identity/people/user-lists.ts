import { and, asc, desc, inArray, sql, type SQL } from 'drizzle-orm'
import { factors, identities, users } from '#drizzle/tables/identity.ts'
import type { Executor } from '#src/database/connect.ts'
import { FACTOR_COLUMNS, notDeleted, type User, type UserRow } from './find-users.ts'

/** Users read at a time when all are wanted. */
export const USERS_AT_A_TIME = 1000

/** The order of the index `users_created_at`, read backwards. */
const NEWEST_FIRST = [desc(users.created_at), desc(users.id)]
const OLDEST_FIRST = [asc(users.created_at), asc(users.id)]

/** A page of the users that meet a condition, newest or oldest first, and how many meet it in all. */
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

/** Whom `isStaff` means, as PostgreSQL says it. */
export const isStaffRow = sql`(${users.app_metadata} ->> 'role' in ('admin', 'operator')
  or ${users.app_metadata} @> '{"roles": ["admin"]}')`

/**
 * All users, or all that meet a condition, newest first, in batches: all are full but the last, which may be empty.
 */
export async function * allUsers (db: Executor, where?: SQL): AsyncGenerator<User[]> {
  let rows: UserRow[] = []
  do {
    const last = rows.at(-1)
    const beyond = last &&
      sql`(${users.created_at}, ${users.id}) < (${last.created_at.toISOString()}::timestamptz, ${last.id}::uuid)`
    rows = await db.select().from(users).where(and(notDeleted, where, beyond))
      .orderBy(...NEWEST_FIRST).limit(USERS_AT_A_TIME)
    yield await withTheirIdentities(db, rows)
  } while (rows.length === USERS_AT_A_TIME)
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
