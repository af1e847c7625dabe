import { and, asc, eq, inArray, sql, type SQLWrapper } from 'drizzle-orm'
import { users } from '#drizzle/tables/identity.ts'
import type { Transaction } from '#src/database/connect.ts'
import { LOCKS } from '#src/database/locks.ts'
import { notDeleted, type UserRow } from './find-users.ts'

/*
 * The order of locks in every transaction on people. Two that lock in different orders wait for each other, and
 * PostgreSQL ends one of them.
 *
 * 1. the counters of the addresses that a mail is asked for, in the order of the addresses
 * 2. `lockRights` or `lockSignIns`, where it is needed
 * 3. the account's row
 * 4. what belongs to the account: identities, tokens, flows, sessions, keys
 * 5. the end of the audit log
 *
 * Who finds an account by a token or a code reads that without a lock, and takes it once the account is locked. A
 * refresh locks its session alone, and after it nothing but the end of the audit log.
 */

/** Until the transaction ends no other one changes who is an administrator: at least one is always left. */
export async function lockRights (tx: Transaction): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.rights})`)
}

/**
 * One sign-in through another provider at a time: of two first sign-ins of a person at once, the second one finds the
 * account of the first.
 */
export async function lockSignIns (tx: Transaction): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.accounts})`)
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

/** The same for several persons, whose ids a query finds. Returns the ids. */
export async function lockUsers (tx: Transaction, ids: SQLWrapper): Promise<string[]> {
  const rows = await tx.select({ id: users.id }).from(users).where(and(inArray(users.id, ids), notDeleted))
    .orderBy(asc(users.id)).for('no key update')
  return rows.map(({ id }) => id)
}
