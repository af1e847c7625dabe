import type { Config } from '#src/config/config.ts'
import type { Executor } from '#src/database/connect.ts'
import { currentSuspension } from './suspension.ts'
import { countByState } from './read.ts'
import { STATE_NAMES, STATES, type State } from '#schemas/submission.ts'

/** The ledger at a glance. */
export interface LedgerSummary {
  /** Every state, in the order of a submission's life. */
  states: { stato: State, description: string, submissions: number }[]
  /** Nothing is sent. */
  suspended: boolean
}

/** The submissions of a mode by state, and whether sending is suspended. */
export async function ledgerSummary (db: Executor, mode: Config['ALLOGGIATI_MODE']): Promise<LedgerSummary> {
  const counted = await countByState(db, mode)
  const states = STATE_NAMES.map((stato) => ({ stato, description: STATES[stato], submissions: counted.get(stato)! }))
  return { states, suspended: await currentSuspension(db) !== undefined }
}
