import { channel } from 'node:diagnostics_channel'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { invii_transizioni as transitions } from '#drizzle/tables/ledger.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Clock } from '#src/lib/time.ts'
import type { Audit } from '#src/services/audit/log.ts'
import { chainHead, type ChainHead } from '#src/database/chain-head.ts'
import type { Database } from '#src/database/connect.ts'
import type { BeforeReady } from '../police-hooks.ts'
import type { PoliceService } from '../service/police-service.ts'
import type { RaiseAlarm } from './alarms/alarm-notifier.ts'
import type { Timeline } from './timeline.ts'

/** Context for proofs and alarms. It needs no credentials, so past submissions are watched without them. */
export interface WatchContext {
  db: Database
  clock: Clock
  log: FastifyBaseLogger
  /** Whether the error means a full disk, which is logged elsewhere. */
  isTold?: (err: unknown) => boolean
  alarm: RaiseAlarm
  /** The submissions of this mode: the sandbox's, or the real ones of every account. */
  mode: PoliceService['mode']
  /** Keys for the fingerprints that identify guests. */
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
  /** Hooks that can refuse a submission before it becomes `pronto`. */
  beforeReady: readonly BeforeReady[]
}

/** Submissions that may hold each at a time. Up to four have a `place`, so that no Send waits for a test call. */
const LIMITS = { place: 4, flight: 1 } as const
type Good = keyof typeof LIMITS
/** A test call slower than this loses its rank, so that later submissions can overtake it. */
const RANK_KEPT_MS = 5000
/** Poll interval while shutdown waits until the lane is empty. */
const EMPTY_MS = 20

/** Thrown during shutdown: the next process takes over submissions that are not dispatched. */
export class LaneClosed extends Error {}

/** A submission in the lane. It holds or wants a `place` or the `flight`; `since` is on the monotonic clock. */
export interface Turn { readonly id: number, has: Good | null, wants: Good | null, since: number }

/** The send queue of this process, first in, first out. A waiting submission writes nothing to the database. */
export class Lane {
  /** Aborted when shutdown begins. */
  readonly shutdownSignal: AbortSignal
  /** In order of arrival. */
  readonly #turns = new Set<Turn>()

  constructor (shutdownSignal = new AbortController().signal) {
    this.shutdownSignal = shutdownSignal
  }

  enter (id: number): Turn {
    const turn: Turn = { id, has: null, wants: null, since: 0 }
    this.#turns.add(turn)
    return turn
  }

  /** Removes the submission from the lane and releases what it holds. */
  leave (turn: Turn): void {
    this.#turns.delete(turn)
  }

  /**
   * Tries to take a `place` (test call), or to exchange it for the `flight` (Send).
   * @returns whether the submission holds it; the caller polls until it does
   * @throws LaneClosed
   */
  take (turn: Turn, good: Good): boolean {
    if (this.shutdownSignal.aborted) throw new LaneClosed()
    if (turn.has === good) return true
    const turns = [...this.#turns]
    turn.wants = good
    const isNext = turns.find(({ wants }) => wants === good) === turn
    if (!isNext || turns.filter(({ has }) => has === good).length >= LIMITS[good]) return false
    if (good === 'flight' && turns.slice(0, turns.indexOf(turn)).some(isRehearsed)) return false
    Object.assign(turn, { has: good, wants: null, since: performance.now() })
    return true
  }

  ids (): number[] {
    return [...this.#turns].map(({ id }) => id)
  }

  /**
   * Sleeps for `ms` milliseconds.
   * @throws LaneClosed
   */
  async pause (ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.shutdownSignal }).catch(() => { throw new LaneClosed() })
  }

  /** Resolves when no submission is in the lane. */
  async empty (): Promise<void> {
    while (this.#turns.size > 0) await sleep(EMPTY_MS)
  }
}

/** Whether the submission is in its test call and keeps its rank. */
function isRehearsed ({ has, wants, since }: Turn): boolean {
  return has === 'place' && wants === null && performance.now() - since < RANK_KEPT_MS
}

/**
 * Stores the head of the ledger's hash chain outside the database. A database without that link is an older, restored
 * one, and may lack submissions that were sent.
 */
export function ledgerChainHead (dataDir: string): ChainHead {
  return chainHead(join(dataDir, 'ledger-chain.json'), transitions)
}

/** The steps of a submission, in order. Tests listen to them, and can kill the process between any two. */
export type Step =
  'reserved' | 'claimed' | 'logged-in' | 'rehearsed' | 'connected' | 'dispatched' | 'replied' | 'recorded'

const steps = channel('locanda:ledger')

export function announce (step: Step, id: number): void {
  if (steps.hasSubscribers) steps.publish({ step, id })
}
