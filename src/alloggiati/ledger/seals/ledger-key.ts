import { createHmac } from 'node:crypto'
import type { Keys } from '#src/lib/secrets.ts'
import { registro_chiave as records } from '#drizzle/tables/ledger.ts'
import type { Database, Executor } from '#src/database/connect.ts'
import { rm } from 'node:fs/promises'
import fp from 'fastify-plugin'
import { ConfigError } from '#src/config/data-folder.ts'
import { type Config } from '#src/config/config.ts'
import { isAuditKey } from '#src/services/audit/verify.ts'

/** The block length of SHA-256 in bytes: RFC 2104 pads the key to it. */
const BLOCK = 64
const LABEL = 'ledger/seal'

/** The seal of a text, as the function `sigillo_di` makes it. */
export function sealOf (keys: Keys): (text: string) => Buffer {
  const key = keys.derive(LABEL)
  return (text) => createHmac('sha256', key).update(text).digest()
}

/**
 * The settings with which a database session seals what it writes to the ledger: the two key blocks of HMAC, as
 * hexadecimal. They are given at the connection and are part of no statement, so no log holds them; a session sees its
 * own alone. What is sealed is spelled by the other settings.
 */
export function sealSettings (keys: Keys): Record<string, string> {
  const block = Buffer.concat([keys.derive(LABEL)], BLOCK)
  const padded = (pad: number) => Buffer.from(block.map((byte) => byte ^ pad)).toString('hex')
  return { 'locanda.sigillo_i': padded(0x36), 'locanda.sigillo_o': padded(0x5c), bytea_output: 'hex' }
}

/** Whether the ledger is sealed with these keys; undefined: no server has recorded its key yet. */
export async function isLedgersKey (db: Executor, keys: Keys): Promise<boolean | undefined> {
  const [record] = await db.select().from(records)
  return record && fingerprintOf(keys).equals(record.impronta)
}

/** Records the key that the ledger is sealed with. Of several servers that start together, one is the first. */
async function recordKey (db: Database, keys: Keys): Promise<void> {
  await db.insert(records).values({ impronta: fingerprintOf(keys) }).onConflictDoNothing()
}

function fingerprintOf (keys: Keys): Buffer {
  return keys.fingerprint('ledger/key')
}

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
