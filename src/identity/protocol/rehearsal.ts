import { randomUUID } from 'node:crypto'
import { TransactionRollbackError } from 'drizzle-orm'
import type { Transaction } from '#src/plugins/database/connect.ts'
import type { User } from '../people/find-users.ts'
import { createUser } from '../people/users.ts'

/**
 * Does what is done with an account, with one that nobody has, and takes all of it back. What a request writes depends
 * on whether its address has one: while the disk is full one would be answered well and the other not, and that would
 * tell which addresses have an account. The caller does it for every address, in the transaction of what follows: its
 * commit, too, then writes for every address. What was locked meanwhile, the end of the audit log, too, is free again
 * (PostgreSQL, "Explicit Locking": locks that are taken after a savepoint go with it).
 */
export async function rehearse (
  tx: Transaction,
  work: (inner: Transaction, nobody: User) => Promise<unknown>
): Promise<void> {
  try {
    await tx.transaction(async (inner) => {
      await work(inner, await createUser(inner, { email: `${randomUUID()}@nobody.invalid`, confirmed: false }))
      inner.rollback()
    })
  } catch (err) {
    if (!(err instanceof TransactionRollbackError)) throw err
  }
}
