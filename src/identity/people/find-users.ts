import { and, asc, eq, isNull } from 'drizzle-orm'
import { factors, identities, isImportedHash, users } from '#drizzle/tables/identity.ts'
import type { Executor } from '#src/database/connect.ts'
import { AuthError } from '../errors.ts'
import { normalizeEmail } from './email.ts'

export type UserRow = typeof users.$inferSelect
export type IdentityRow = typeof identities.$inferSelect

/** What may be shown of a second factor. */
export const FACTOR_COLUMNS = {
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

/** A person with their identities and second factors, oldest first. */
export interface User extends UserRow { identities: IdentityRow[], factors: FactorRow[] }

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

export async function withIdentities (db: Executor, row: UserRow): Promise<User> {
  const [found, factors] = await Promise.all([
    db.select().from(identities).where(eq(identities.user_id, row.id)).orderBy(asc(identities.created_at)),
    listFactors(db, row.id)
  ])
  return { ...row, identities: found, factors }
}

/** A person's second factors, oldest first. */
export async function listFactors (db: Executor, userId: string): Promise<FactorRow[]> {
  return await db.select(FACTOR_COLUMNS).from(factors)
    .where(eq(factors.user_id, userId)).orderBy(asc(factors.created_at), asc(factors.id))
}

export function isBanned (until: Date | null): boolean {
  return until !== null && until.getTime() > Date.now()
}

/** Whether somebody has a password hash that takes another time to check than ours. */
export async function hasImportedHashes (db: Executor): Promise<boolean> {
  const found = await db.select({ id: users.id }).from(users).where(isImportedHash(users.password_hash)).limit(1)
  return found.length > 0
}
