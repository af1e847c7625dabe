import { channel } from 'node:diagnostics_channel'
import type { FastifyBaseLogger } from 'fastify'
import type { Keys } from '#src/lib/secrets.ts'
import type { Audit } from '#src/plugins/audit/log.ts'
import type { ChainHead } from '#src/plugins/database/chain-head.ts'
import type { Database } from '#src/plugins/database/connect.ts'
import type { Clock } from '#src/lib/time.ts'
import type { PoliceService } from '../service/police-service.ts'

/** What the ledger works with. */
export interface LedgerContext {
  db: Database
  keys: Keys
  clock: Clock
  service: PoliceService
  head: ChainHead
  audit: Audit
  log: FastifyBaseLogger
  /** Names this process in claims and transitions. */
  name: string
}

/** The steps of a submission in their order: whoever listens can see, or end, the process between any two of them. */
export type Step =
  'reserved' | 'claimed' | 'logged-in' | 'rehearsed' | 'connected' | 'dispatched' | 'replied' | 'settled'

const steps = channel('locanda:ledger')

/** Tells that a step is done. */
export function reached (step: Step, id: number): void {
  if (steps.hasSubscribers) steps.publish({ step, id })
}
