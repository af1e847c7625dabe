import { eq } from 'drizzle-orm'
import { account_polizia as accounts } from '#drizzle/tables/alloggiati.ts'
import type { Executor } from '#src/database/connect.ts'
import type { LedgerBase } from './ledger-context.ts'

/** Whether all guests of the account are filed through this ledger. False until an administrator confirms it. */
export async function readExclusiveChannel (db: Executor, account: string): Promise<boolean> {
  const [found] = await db
    .select({ canale_esclusivo: accounts.canale_esclusivo })
    .from(accounts)
    .where(eq(accounts.utente, account))
  return found?.canale_esclusivo ?? false
}

export async function setExclusiveChannel (db: Executor, account: string, canale_esclusivo: boolean): Promise<void> {
  await db
    .insert(accounts)
    .values({ utente: account, canale_esclusivo })
    .onConflictDoUpdate({ target: accounts.utente, set: { canale_esclusivo } })
}

/** The bookings that now belong to another account, or to an establishment without an account. */
export async function bookingsElsewhere (
  { accountOf }: Pick<LedgerBase, 'accountOf'>, db: Executor, given: string, bookings: readonly number[]
): Promise<number[]> {
  if (bookings.length === 0) return []
  const present = await accountOf(db, bookings)
  return bookings.filter((id) => {
    const { account, missing } = present(id)
    // A booking without a unit, or a deleted one, keeps the account of its submission.
    return missing !== 'unita' && account !== given
  })
}
