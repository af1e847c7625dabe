import { rm } from 'node:fs/promises'
import fp from 'fastify-plugin'
import { ConfigError, type Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { isAuditKey } from '#src/services/audit/verify.ts'
import { isLedgersKey, recordKey } from './key-record.ts'

const OTHER = 'il database è stato scritto con un’altra chiave'

/**
 * The start with another key than the database's is refused: what is sealed could not be read, so nobody could sign in,
 * and fingerprints are keyed, so guests that were sent before would be sent again. A key that was generated for this
 * start is taken away again: it must not be taken for the lost one. To be registered before anything that writes.
 */
export default fp<{ config: Config, keys: Keys }>(async function ledgerKey ({ db }, { config, keys }) {
  const { file, isNew } = config.MASTER_KEY_ORIGIN
  if (await isLedgersKey(db, keys) === undefined && await isAuditKey(db, keys)) await recordKey(db, keys)
  if (await isLedgersKey(db, keys) === true) return
  if (file !== undefined && isNew) {
    await rm(file, { force: true })
    throw new ConfigError('MASTER_KEY', `${OTHER}, e il file ${file} manca: rimetterlo dal salvataggio, o dare la ` +
      'chiave in MASTER_KEY')
  }
  throw new ConfigError('MASTER_KEY', `${OTHER}: ` + (file === undefined
    ? 'quella della variabile MASTER_KEY non è la sua; usare la sua, uguale per tutti i server'
    : `quella del file ${file} non è la sua; rimettere il file di allora, o dare la chiave in MASTER_KEY`))
}, { name: 'ledger-key', dependencies: ['database'] })
