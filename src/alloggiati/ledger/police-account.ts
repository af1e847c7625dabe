import { eq } from 'drizzle-orm'
import { account_polizia as accounts } from '#drizzle/tables/alloggiati.ts'
import type { Executor } from '#src/database/connect.ts'

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
