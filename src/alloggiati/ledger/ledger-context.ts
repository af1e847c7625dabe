import { channel } from 'node:diagnostics_channel'
import { join } from 'node:path'
import type { FastifyBaseLogger } from 'fastify'
import { invii_transizioni as transitions } from '#drizzle/tables/ledger.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Clock } from '#src/lib/time.ts'
import type { Audit } from '#src/services/audit/log.ts'
import { chainHead, type ChainHead } from '#src/database/chain-head.ts'
import type { Database } from '#src/database/connect.ts'
import type { BeforeReady } from '../police-hooks.ts'
import type { PoliceService } from '../service/police-service.ts'
import type { RaiseAlarm } from './alarms/alarm-bell.ts'
import type { Lane } from './sending/lane.ts'
import type { Timeline } from './timeline.ts'

/** What the ledger proves and warns with. It needs no credentials: what was sent is looked after all the same. */
export interface WatchContext {
  db: Database
  clock: Clock
  log: FastifyBaseLogger
  /** Whether an error comes of a full disk: then the log says so already. */
  isTold?: (err: unknown) => boolean
  alarm: RaiseAlarm
  /** Whose submissions these are: the sandbox's, or the real ones, of whichever account. */
  mode: PoliceService['mode']
  /** Guests are known again by fingerprints that are made with them. */
  keys: Keys
  /** Names this process in claims and transitions. */
  name: string
}

export interface LedgerContext extends WatchContext {
  service: PoliceService
  lane: Lane
  chainHead: ChainHead
  timeline: Timeline
  audit: Audit
  /** Who has a say before a submission becomes ready. */
  beforeReady: readonly BeforeReady[]
}

/**
 * The head of the ledger's chain, noted outside of the database. A database that does not hold it is an older one that
 * was put back: what it does not know may have been sent.
 */
export function ledgerChainHead (dataDir: string): ChainHead {
  return chainHead(join(dataDir, 'ledger-chain.json'), transitions)
}

/** The steps of a submission in their order: a listener can see, or end, the process between any two of them. */
export type Step =
  'reserved' | 'claimed' | 'logged-in' | 'rehearsed' | 'connected' | 'dispatched' | 'replied' | 'recorded'

const steps = channel('locanda:ledger')

export function announce (step: Step, id: number): void {
  if (steps.hasSubscribers) steps.publish({ step, id })
}
