import { channel } from 'node:diagnostics_channel'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { invii_transizioni as transitions } from '#drizzle/tables/ledger.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Clock } from '#src/lib/time.ts'
import type { Audit } from '#src/services/audit/log.ts'
import { chainHead, type ChainHead } from '#src/database/chain-head.ts'
import type { Database, Executor } from '#src/database/connect.ts'
import type { BeforeReady } from '../police-hooks.ts'
import type { PoliceService } from '../service/police-service.ts'
import type { RaiseAlarm } from './alarms/alarm-notifier.ts'
import type { Timeline } from './timeline.ts'

/** Context for receipts and alarms. It has no credentials, so a server without them watches past submissions. */
export interface WatchContext {
  db: Database
  clock: Clock
  log: FastifyBaseLogger
  /** Whether the error means a full disk, which is logged elsewhere. */
  isReported?: (err: unknown) => boolean
  alarm: RaiseAlarm
  /** The watched submissions: those to the sandbox, or those to the real service. Any account may have sent them. */
  mode: PoliceService['mode']
  /** Keys that encrypt records and compute the fingerprints of guests. */
  keys: Keys
  /** The name of this process in claims and transitions. */
  name: string
}

/** The account of a booking's guests. `missing`: the unit is not assigned, or its establishment has no account. */
export interface AccountOfBooking {
  account: string | undefined
  missing: 'unita' | 'account' | null
  establishment?: number | undefined
}

/** The ledger without an account. */
export interface LedgerBase extends WatchContext {
  chainHead: ChainHead
  timeline: Timeline
  audit: Audit
  /** Hooks that can refuse a submission before it becomes `pronto`. */
  beforeReady: readonly BeforeReady[]
  /** Reads the present accounts of bookings. Null means guests without a booking. */
  accountOf (db: Executor, bookings: readonly (number | null)[]): Promise<(id: number | null) => AccountOfBooking>
}

/** The ledger of one account. */
export interface LedgerContext extends LedgerBase {
  service: PoliceService
  sendQueue: SendQueue
}

/** Number of slots of each kind. Up to four submissions make login and test call concurrently. */
const LIMITS = { test: 4, send: 1 } as const
type Slot = keyof typeof LIMITS
/** A submission with a longer test call loses its rank in the queue, so that later submissions can overtake it. */
const RANK_KEPT_MS = 5000
/** Poll interval while shutdown waits until the send queue is empty. */
const EMPTY_POLL_MS = 20

/** Thrown during shutdown. The next process takes over submissions that are not dispatched. */
export class SendQueueClosed extends Error {}

/** A submission in the send queue, with the slot that it has or waits for. `since` is on the monotonic clock. */
export interface QueueEntry { readonly id: number, has: Slot | null, wants: Slot | null, since: number }

/** The send queue of one account in this process, first in, first out. */
export class SendQueue {
  /** Aborted when shutdown begins. */
  readonly shutdownSignal: AbortSignal
  /** Entries in the order in which they joined. */
  readonly #entries = new Set<QueueEntry>()

  constructor (shutdownSignal = new AbortController().signal) {
    this.shutdownSignal = shutdownSignal
  }

  enter (id: number): QueueEntry {
    const entry: QueueEntry = { id, has: null, wants: null, since: 0 }
    this.#entries.add(entry)
    return entry
  }

  /** Removes the submission from the send queue and releases its slot. */
  leave (entry: QueueEntry): void {
    this.#entries.delete(entry)
  }

  /**
   * Tries to take a `test` slot, or to exchange it for the `send` slot.
   * @returns whether the submission now has the slot. The caller polls until it does
   * @throws SendQueueClosed
   */
  take (entry: QueueEntry, slot: Slot): boolean {
    if (this.shutdownSignal.aborted) throw new SendQueueClosed()
    if (entry.has === slot) return true
    const entries = [...this.#entries]
    entry.wants = slot
    const isNext = entries.find(({ wants }) => wants === slot) === entry
    if (!isNext || entries.filter(({ has }) => has === slot).length >= LIMITS[slot]) return false
    if (slot === 'send' && entries.slice(0, entries.indexOf(entry)).some(isInTestCall)) return false
    Object.assign(entry, { has: slot, wants: null, since: performance.now() })
    return true
  }

  ids (): number[] {
    return [...this.#entries].map(({ id }) => id)
  }

  /**
   * Sleeps for `ms` milliseconds.
   * @throws SendQueueClosed
   */
  async pause (ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.shutdownSignal }).catch(() => { throw new SendQueueClosed() })
  }

  async whenEmpty (): Promise<void> {
    while (this.#entries.size > 0) await sleep(EMPTY_POLL_MS)
  }
}

/** Whether the submission is in its test call and still keeps its rank. */
function isInTestCall ({ has, wants, since }: QueueEntry): boolean {
  return has === 'test' && wants === null && performance.now() - since < RANK_KEPT_MS
}

/**
 * Stores the head of the ledger's hash chain outside the database. A database without that link was restored from an
 * older copy, and may lack submissions that were sent.
 */
export function ledgerChainHead (dataDir: string): ChainHead {
  return chainHead(join(dataDir, 'ledger-chain.json'), transitions)
}

/** The steps of a submission, in order. Tests listen to them, and can kill the process between any two. */
export type Step =
  'reserved' | 'claimed' | 'logged-in' | 'tested' | 'connected' | 'dispatched' | 'replied' | 'recorded'

const steps = channel('locanda:ledger')

export function announce (step: Step, id: number): void {
  if (steps.hasSubscribers) steps.publish({ step, id })
}
