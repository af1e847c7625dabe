import { and, asc, eq, inArray, sql, type SQLWrapper } from 'drizzle-orm'
import { users } from '#drizzle/tables/identity.ts'
import type { Transaction } from '#src/database/connect.ts'
import { LOCKS } from '#src/database/locks.ts'
import { notDeleted, type UserRow } from './find-users.ts'

/*
 * The lock order of every transaction on people. Two transactions with different orders can deadlock.
 *
 * 1. the counters of the addresses to which a mail is sent, in the order of the addresses
 * 2. `lockRights` or `lockSignIns`, if needed
 * 3. the account's row
 * 4. rows of the account: identities, tokens, flows, sessions, keys
 * 5. the end of the audit log
 *
 * A token or code is first read without a lock to find its account, and used after the account is locked. A refresh
 * locks only its session, then the end of the audit log.
 */

/** Until the transaction ends, no other one can change who is an administrator, so that at least one remains. */
export async function lockRights (tx: Transaction): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.rights})`)
}

/**
 * Sign-ins through other providers run one after the other. So when a person signs in twice at the same time, the
 * second sign-in finds the account of the first.
 */
export async function lockSignIns (tx: Transaction): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.accounts})`)
}

/**
 * Locks a person's row until the transaction ends. Meanwhile no other transaction can change the person. Transactions
 * that start or revoke the person's sessions take the same lock, except a refresh.
 */
export async function lockUser (tx: Transaction, id: string): Promise<UserRow | undefined> {
  // The weakest lock that prevents changes of the row. Other transactions may still insert rows that reference it.
  const [row] = await tx.select().from(users).where(and(eq(users.id, id), notDeleted)).for('no key update')
  return row
}

/** Locks the rows of several people like `lockUser`. A query selects their ids. Returns the ids. */
export async function lockUsers (tx: Transaction, ids: SQLWrapper): Promise<string[]> {
  const rows = await tx.select({ id: users.id }).from(users).where(and(inArray(users.id, ids), notDeleted))
    .orderBy(asc(users.id)).for('no key update')
  return rows.map(({ id }) => id)
}
