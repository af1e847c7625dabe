import { registro_chiave as records } from '#drizzle/tables/ledger.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Database, Executor } from '#src/database/connect.ts'

/** Whether the ledger is sealed with these keys; undefined: no server has recorded its key yet. */
export async function isLedgersKey (db: Executor, keys: Keys): Promise<boolean | undefined> {
  const [record] = await db.select().from(records)
  return record && fingerprintOf(keys).equals(record.impronta)
}

/** Records the key that the ledger is sealed with. Of several servers that start together, one is the first. */
export async function recordKey (db: Database, keys: Keys): Promise<void> {
  await db.insert(records).values({ impronta: fingerprintOf(keys) }).onConflictDoNothing()
}

function fingerprintOf (keys: Keys): Buffer {
  return keys.fingerprint('ledger/key')
}
