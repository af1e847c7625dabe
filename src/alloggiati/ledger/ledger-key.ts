import { rm } from 'node:fs/promises'
import fp from 'fastify-plugin'
import { registro_chiave as records } from '#drizzle/tables/ledger.ts'
import type { Config } from '#src/config/config.ts'
import { ConfigError } from '#src/config/data-folder.ts'
import type { Executor } from '#src/database/connect.ts'
import type { Keys } from '#src/lib/secrets.ts'

/** Whether the ledger was written with these keys. Undefined when no server has recorded its key yet. */
export async function isLedgersKey (db: Executor, keys: Keys): Promise<boolean | undefined> {
  const [record] = await db.select().from(records)
  return record && fingerprintOf(keys).equals(record.impronta)
}

function fingerprintOf (keys: Keys): Buffer {
  return keys.fingerprint('ledger/key')
}

const OTHER = 'il database è stato scritto con un’altra chiave'

/**
 * Refuses to start with a key other than the database's. Encrypted values would be unreadable, and changed fingerprints
 * would let guests be sent again. If this start generated the key file, the file is deleted, so that nobody mistakes it
 * for the lost key. Register this plugin before any plugin that writes.
 */
export default fp<{ config: Config, keys: Keys }>(async function ledgerKey ({ db }, { config, keys }) {
  // The first server records its key.
  await db.insert(records).values({ impronta: fingerprintOf(keys) }).onConflictDoNothing()
  if (await isLedgersKey(db, keys)) return
  const { file, isNew } = config.MASTER_KEY_ORIGIN
  if (file !== undefined && isNew) {
    await rm(file, { force: true })
    throw new ConfigError('MASTER_KEY', `${OTHER}, e il file ${file} manca: ripristinarlo dal salvataggio, o ` +
      'indicare la chiave in MASTER_KEY')
  }
  throw new ConfigError('MASTER_KEY', `${OTHER}: ` + (file === undefined
    ? 'indicare in MASTER_KEY la chiave del database, uguale per tutti i server'
    : `rimettere al posto di ${file} il file originale, o indicare la chiave in MASTER_KEY`))
}, { name: 'ledger-key', dependencies: ['database'] })
