import { randomUUID } from 'node:crypto'
import { TransactionRollbackError } from 'drizzle-orm'
import type { Transaction } from '#src/database/connect.ts'
import type { User } from '../people/find-users.ts'
import { createUser } from '../people/users.ts'

/**
 * Does the work with a ghost, an account that no person has, and takes it back by a savepoint. What a request writes
 * depends on whether its address has an account. On a full disk one request would succeed and the other fail, and the
 * difference would tell which addresses have an account. So the caller rehearses for every address, in the transaction
 * of the real work: then each one writes, and each one fails. The rollback also frees the locks that the rehearsal
 * took, the one at the end of the audit log among them (PostgreSQL, "Explicit Locking").
 */
export async function rehearse (
  tx: Transaction,
  work: (inner: Transaction, ghost: User) => Promise<unknown>
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
