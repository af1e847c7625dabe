import fp from 'fastify-plugin'
import { ConfigError } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { readKeyRecord, recordKey } from './key-record.ts'

/**
 * The start with another key than the ledger's is refused: fingerprints are keyed, so guests that were sent before
 * would be sent again. To be registered before anything that writes.
 */
export default fp<{ keys: Keys }>(async function ledgerKey ({ db }, { keys }) {
  await recordKey(db, keys)
  if (await readKeyRecord(db, keys) !== undefined) return
  throw new ConfigError(
    'MASTER_KEY',
    'il database è stato scritto con un’altra chiave: usare quella, da MASTER_KEY o dal file master.key della ' +
      'DATA_DIR di allora, uguale per tutti i server'
  )
}, { name: 'ledger-key', dependencies: ['database'] })
