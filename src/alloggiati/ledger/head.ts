import { join } from 'node:path'
import { invii_transizioni as transitions } from '#drizzle/tables/alloggiati.ts'
import { chainHead, type ChainHead } from '#src/plugins/database/chain-head.ts'

/**
 * The end of the ledger's chain. A database that does not hold it is an older one put back: what it does not know may
 * have been sent.
 */
export function ledgerHead (dataDir: string): ChainHead {
  return chainHead(join(dataDir, 'ledger.head'), transitions)
}
