import { isNull, sql } from 'drizzle-orm'
import { invii_sospensioni as holds } from '#drizzle/tables/alloggiati.ts'
import type { ChainHead } from '#src/plugins/database/chain-head.ts'
import type { Database, Executor } from '#src/plugins/database/connect.ts'

export interface Hold { motivo: string, chi: string, dal: string }

const OLDER =
  "L'archivio è più vecchio della sua storia: è stato ripristinato un salvataggio. Ciò che non conosce può essere stato inviato"

/** The stop that is in force, if any: while there is one, nothing is sent. */
export async function openHold (db: Executor): Promise<Hold | undefined> {
  const [hold] = await db
    .select({ motivo: holds.motivo, chi: holds.chi, dal: holds.dal })
    .from(holds)
    .where(isNull(holds.tolta_il))
  return hold
}

/** Stops all sending; a stop that is in force already stays as it is. */
export async function stopSending (db: Executor, chi: string, motivo: string): Promise<void> {
  await db.insert(holds).values({ chi, motivo }).onConflictDoNothing()
}

/** Lets sending go on. */
export async function resumeSending (db: Executor, chi: string): Promise<void> {
  await db.update(holds).set({ tolta_da: chi, tolta_il: sql`now()` }).where(isNull(holds.tolta_il))
}

/**
 * The stop in force, having made sure that the database is not older than its history: else the ledger stops itself.
 * Not inside a transaction: the stop must stay when the caller gives up.
 */
export async function holdOrStop (db: Database, head: ChainHead): Promise<Hold | undefined> {
  if (!await head.isIn(db)) await stopSending(db, 'sistema', OLDER)
  return openHold(db)
}
